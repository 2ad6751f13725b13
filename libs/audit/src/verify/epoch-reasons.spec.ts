import { expect, it } from '@jest/globals';
import type { EventType, StoredEvent } from '@countersign/contracts';
import { formatCheckpoint } from '../checkpoint.js';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import { createEd25519Signer } from '../log-key.js';
import { formatNote, signNote } from '../note.js';
import type { NoteSigner } from '../note.js';
import { approvedStory, story } from '../testing/story.js';
import { createGrowingTree } from '../tree.js';
import { readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import type { Finding } from './findings.js';
import { createVerification } from './verification.js';

const originOf = (epoch: number, base = 'countersign.example'): string => `${base}/default/${String(epoch)}`;
const signerOf = (epoch: number, base?: string) =>
  createEd25519Signer(originOf(epoch, base), new Uint8Array(32).fill(epoch));
const former = 'former.example';
const keys = [signerOf(1), signerOf(2), signerOf(3), signerOf(1, former)].map(({ key }) => key);

function noteOf(epoch: number, events: readonly StoredEvent[], base?: string): string {
  const tree = createGrowingTree();
  for (const event of events) tree.append(leafHash(entryOf(event)));
  return signed({ origin: originOf(epoch, base), size: tree.size(), root: tree.root() }, signerOf(epoch, base));
}

function signed(tree: { origin: string; size: number; root: Uint8Array }, signer: NoteSigner): string {
  return formatNote(signNote(formatCheckpoint({ ...tree, extensions: [] }), [signer]));
}

/** The same tree, signed under the same name by a key of somebody else. */
function signedByOther(tree: Anchor): string {
  return signed(tree, createEd25519Signer(tree.origin, new Uint8Array(32)));
}

const anchorOf = (note: string): Anchor => (readAnchors(note) ?? [])[0] as Anchor;
const at = (events: readonly StoredEvent[], year: number): readonly StoredEvent[] =>
  JSON.parse(JSON.stringify(events).replaceAll('"2026-', `"${String(year)}-`)) as readonly StoredEvent[];

const whole = approvedStory().claim().report().events;
const left = whole.slice(0, 4);
const lastNote = noteOf(1, whole);
const last = anchorOf(lastNote);

/** The log after its end was lost, with the event that says why. */
function accepted(data: object): readonly StoredEvent[] {
  const acceptedAt = '2030-01-01T00:00:00.000Z';
  const said = { processId: 'p', from: 9, to: 4, why: 'it was cut', acceptedAt, ...data };
  return story(left).append('system-default-p', 'LogEndAccepted', said).events;
}

function verify(events: readonly StoredEvent[], since: readonly Anchor[] = [], ...before: readonly string[]) {
  const earlier = before.length === 0 ? [lastNote] : before;
  const findings: Finding[] = [];
  const verification = createVerification({
    ...{ keys, streams: new Map(), onFinding: (one) => findings.push(one) },
    ...{ since, kept: [noteOf(earlier.length + 1, events), ...earlier].map(anchorOf) },
  });
  events.forEach(verification.take);
  const { exit, continued, unproven } = verification.end();
  return { exit, findings, continued, unproven: unproven.join('\n') };
}

it('an epoch that contradicts the one before it has an event that says why', () => {
  const log = at(accepted({ checkpoint: lastNote }), 2030);
  expect(verify(log)).toMatchObject({ exit: 0, continued: [{ epoch: 1, eventId: log.at(-1)?.eventId }] });
});

it.each([
  ['is not there', left],
  ['names no checkpoint', accepted({})],
  ['names an earlier checkpoint of the epoch', accepted({ checkpoint: noteOf(1, left) })],
  ['names a checkpoint of another epoch', accepted({ checkpoint: noteOf(2, whole) })],
  ['names a checkpoint that the key of the epoch has not signed', accepted({ checkpoint: signedByOther(last) })],
  ['names another root', accepted({ checkpoint: signed({ ...last, root: new Uint8Array(32) }, signerOf(1)) })],
  ['names a larger checkpoint', accepted({ checkpoint: signed({ ...last, size: 9999 }, signerOf(1)) })],
])('it is a finding where such an event %s', (_, events) => {
  expect(verify(at(events, 2030))).toMatchObject({
    ...{ exit: 1, continued: [{ eventId: null }] },
    findings: [{ check: 'tree', detail: expect.stringContaining('no event (LogEndAccepted, LogRestored) says why') }],
  });
});

it('a log that begins before versions recorded such events is not proven in that, and no finding', () => {
  const { exit, unproven } = verify(at(left, 2025));
  expect([exit, unproven]).toEqual([0, expect.stringContaining('why epoch 1 ended: no event says so')]);
});

it('an older log whose epoch still went on later needs the event, as the own checkpoint of the auditor shows', () => {
  const log = [...at(left.slice(0, 2), 2025), ...at(left.slice(2), 2030)];
  const kept = [anchorOf(noteOf(1, log.slice(0, 3)))];
  expect(verify(log, kept)).toMatchObject({ exit: 1, findings: [{ check: 'tree', index: 3 }] });
});

it('the event of an earlier epoch may be lost with the end of a later one, which is not proven', () => {
  const second = at(accepted({ checkpoint: lastNote }), 2030);
  const restored = (checkpoint: string) => at(accepted({ checkpoint }), 2030);
  const log = restored(noteOf(2, [...second, ...second]));
  const { exit, continued, unproven } = verify(log, [], lastNote, noteOf(2, [...second, ...second]));
  expect([exit, continued]).toMatchObject([
    0,
    [
      { epoch: 2, eventId: 'event-5' },
      { epoch: 1, eventId: null },
    ],
  ]);
  expect(unproven).toContain('why epoch 1 ended');
});

it('an event before the end of the epoch is not why it ended', () => {
  const planted = at(accepted({ checkpoint: lastNote }), 2030);
  const log = [...planted, ...at(story(planted).about('ToolCallShadowJudged', {}).events.slice(-1), 2030)];
  const kept = [anchorOf(noteOf(1, planted))];
  expect(verify(log, kept)).toMatchObject({ exit: 1, continued: [{ eventId: null }] });
});

it('an older checkpoint in the place of the last one hides no end: under the same name each later epoch needs the event', () => {
  const log = at(left, 2030);
  expect(verify(log, [], noteOf(1, log.slice(0, 3)))).toMatchObject({
    ...{ exit: 1, continued: [{ eventId: null }] },
    findings: [{ check: 'tree', index: 3, detail: expect.stringContaining('no event') }],
  });
});

it('a log that only got another name needs no such event; what more was signed under the old name is not proven', () => {
  const log = at(left, 2030);
  const { exit, continued, unproven } = verify(log, [], noteOf(1, log.slice(0, 3), former));
  expect([exit, continued]).toMatchObject([0, [{ eventId: null }]]);
  expect(unproven).toContain('where epoch 1 ended');
});

const lossOf = (type: EventType, data: object): string => {
  const said = { processId: 'p', from: 12, to: 4, ...data };
  const log = story(left).append('system-default-p', type, said);
  const again = { ...said, by: 'root', reason: 'compared', acceptedAt: '2030-01-02T00:00:00.000Z' };
  return verify(log.append('system-default-p', 'LogEndAccepted', again).events).unproven;
};
const restored = {
  reason: 'the disk was lost',
  checkpoint: null,
  why: 'a backup',
  restoredAt: '2030-01-01T00:00:00.000Z',
};

it.each([
  ['a restored backup', 'LogRestored', restored, 'a backup was restored (event-5): 8 events of all tenants'],
  ['an accepted end', 'LogEndAccepted', { acceptedAt: restored.restoredAt }, 'an end was accepted (event-5): 8 events'],
] as const)('says once how many known events are missing after %s', (_, type, data, words) => {
  const unproven = lossOf(type, data);
  expect(unproven).toContain(words);
  expect(unproven.split('of all tenants')).toHaveLength(2);
});

it('says that a backup was restored also where no event is known to be missing', () => {
  expect(lossOf('LogRestored', { ...restored, from: 4 })).toContain('a backup was restored (event-5): no later event');
});
