import { expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { formatCheckpoint } from '../checkpoint.js';
import { entryOf } from '../entry.js';
import { leafHash } from '../hashes.js';
import { createEd25519Signer } from '../log-key.js';
import { formatNote, signNote } from '../note.js';
import { approvedStory, story } from '../testing/story.js';
import { createGrowingTree } from '../tree.js';
import { readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import type { Finding } from './findings.js';
import { createVerification } from './verification.js';

const originOf = (epoch: number): string => `countersign.example/default/${String(epoch)}`;
const signers = [1, 2].map((epoch) => createEd25519Signer(originOf(epoch), new Uint8Array(32).fill(epoch)));

function noteOf(epoch: 1 | 2, events: readonly StoredEvent[]): string {
  const tree = createGrowingTree();
  for (const event of events) tree.append(leafHash(entryOf(event)));
  const text = formatCheckpoint({ origin: originOf(epoch), size: tree.size(), root: tree.root(), extensions: [] });
  return formatNote(signNote(text, signers.slice(epoch - 1, epoch)));
}

const anchorOf = (note: string): Anchor => (readAnchors(note) ?? [])[0] as Anchor;
const at = (events: readonly StoredEvent[], year: number): readonly StoredEvent[] =>
  events.map((event) => ({ ...event, recordedAt: event.recordedAt.replace(/^\d{4}/, String(year)) }));

const whole = approvedStory().claim().report().events;
const left = whole.slice(0, 4);
const lastNote = noteOf(1, whole);

/** The log after its end was lost, with the event that says why. */
function accepted(data: object): readonly StoredEvent[] {
  const acceptedAt = '2030-01-01T00:00:00.000Z';
  const said = { processId: 'p', from: 9, to: 4, why: 'it was cut', acceptedAt, ...data };
  return story(left).append('system-default-p', 'LogEndAccepted', said).events;
}

function verify(events: readonly StoredEvent[], since: readonly Anchor[] = [], before: string = lastNote) {
  const findings: Finding[] = [];
  const verification = createVerification({
    ...{ keys: signers.map(({ key }) => key), streams: new Map(), onFinding: (one) => findings.push(one) },
    ...{ since, kept: [anchorOf(noteOf(2, events)), anchorOf(before)] },
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

it('a log that only got another name needs no such event', () => {
  const log = at(left, 2030);
  expect(verify(log, [], noteOf(1, log.slice(0, 3)))).toMatchObject({ exit: 0, continued: [{ eventId: null }] });
});
