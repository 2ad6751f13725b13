import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEd25519Signer, entryOf, formatNote, formatVkey, parseNote, signNote } from '@countersign/audit';
import type { NoteSigner } from '@countersign/audit';
import {
  approvedStory,
  honestCheckpoint,
  keyChanged,
  provenIn,
  signedChange,
  strangerSigner,
  testSigner as old,
} from '@countersign/audit/testing';
import { createCliRun } from '../testing/cli-run.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const run = createCliRun({});
const [next, third] = [3, 4].map((byte) => createEd25519Signer(old.key.name, new Uint8Array(32).fill(byte))) as [
  NoteSigner,
  NoteSigner,
];
const story = approvedStory().claim().report().events;
const before = story.slice(0, -1);
/** The events up to a change of the log key, up to a second one, and all of them. */
const once = [...before, keyChanged(before, old, next)];
const twice = [...once, keyChanged(once, next, third)];
const events = [...twice, ...story.slice(-1).map((event) => ({ ...event, position: event.position + 2 }))];
const changes = [signedChange(once, [old, next]), signedChange(twice, [next, third])];

function written(name: string, lines: readonly object[] | string): string {
  const file = join(folder, name);
  writeFileSync(file, typeof lines === 'string' ? lines : lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
}

/** Verifies an export by a checkpoint of the last key and one key that is trusted. */
async function verified(lines: readonly object[], { trusted = old, signer = third, log = events } = {}) {
  const file = written('events.ndjson', lines);
  const kept = ['--vkey', written('keys', `${formatVkey(trusted.key)}\n`), '--since', honestCheckpoint(log, signer)];
  const { code, out } = await run('audit', 'verify', file, ...kept, '--all', '--json');
  const found = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Found]));
  return { code, findings: found.filter(({ ok }) => ok === false).map(({ check, detail }) => `${check}: ${detail}`) };
}

interface Found {
  readonly check: string;
  readonly ok?: boolean;
  readonly detail: string;
}

describe('an export of lines over changes of the log key', () => {
  it('is proven by the first key alone', async () => {
    expect(await verified([...changes, ...events])).toEqual({ code: 0, findings: [] });
    expect(await verified([...changes.toReversed(), ...events])).toEqual({ code: 0, findings: [] });
    expect(await verified([...changes, ...events], { trusted: next })).toEqual({ code: 0, findings: [] });
  });

  it('without the changes is proven by the last key, as before', async () => {
    expect(await verified(events, { trusted: third })).toEqual({ code: 0, findings: [] });
    expect((await verified(events)).code).toBe(1);
  });

  it('is not proven when one of the changes is missing', async () => {
    expect((await verified([...changes.slice(0, 1), ...events])).code).toBe(1);
    expect((await verified([...changes.slice(1), ...events])).code).toBe(1);
  });

  it('is not proven by a key that was replaced, whose owner signs a later checkpoint', async () => {
    expect((await verified([...changes, ...events], { signer: next })).code).toBe(1);
    const { code, findings } = await verified([...changes, ...events], { signer: old });
    expect([code, findings]).toEqual([1, [expect.stringContaining('replaced before')]]);
  });

  it.each([
    ['nobody signed', signedChange(twice, [])],
    ['the new key alone signed', signedChange(twice, [third])],
    ['a stranger signed', signedChange(twice, [strangerSigner, third])],
    ['has the content of another event', { ...changes[1]!, body: changes[0]!.body }],
  ])('names a change that %s', async (_who, forged) => {
    const { code, findings } = await verified([changes[0]!, forged, ...events]);
    expect(code).toBe(1);
    expect(findings).toContain('tree: a change of the log key in it cannot be verified');
  });

  it('is not proven by the changes of another epoch, or of another log', async () => {
    const rewritten = before.slice(1);
    const ofOther = signedChange([...rewritten, keyChanged(rewritten, old, next)], [old, next]);
    for (const other of [ofNextEpoch(), ofOther]) {
      const { code, findings } = await verified([other, changes[1]!, ...events]);
      expect([code, findings]).toEqual([1, [expect.stringMatching(/^signature: /)]]);
    }
  });

  it('is not proven by changes whose keys follow one another in another order', async () => {
    const first = [...before, keyChanged(before, next, third)];
    const log = [...first, keyChanged(first, old, next)];
    const swapped = [signedChange(first, [next, third]), signedChange(log, [old, next])];
    const { code, findings } = await verified([...swapped, ...log], { log });
    expect([code, findings]).toEqual([1, [expect.stringMatching(/^signature: /)]]);
  });

  it('begins with at most 1,000 changes', async () => {
    const many = (count: number): readonly object[] => Array.from({ length: count }, () => changes[0]!);
    expect((await verified([...many(1000), ...changes.slice(1), ...events])).code).toBe(2);
    expect(await verified([...many(998), ...changes, ...events])).toEqual({ code: 0, findings: [] });
  });

  it('has no change after its first event', async () => {
    const { code, findings } = await verified([...changes, events[0]!, changes[0]!, ...events.slice(1)]);
    expect([code, findings]).toEqual([1, ['read: the line is no event']]);
  });
});

describe('an export with an event that is there as its entry alone', () => {
  const committed = (at: number) => events.map((event, index) => (index === at ? parsedEntry(event) : event));

  it.each([
    ['in the middle', 2],
    ['as the first event', 0],
    ['as the last event', events.length - 1],
  ])('is proven and lists it as not proven: %s', async (_, at) => {
    expect(await verified([...changes, ...committed(at)])).toEqual({ code: 0, findings: [] });
    expect(await unprovenOf([...changes, ...committed(at)])).toContainEqual(
      expect.stringMatching(new RegExp(`^1 event held as commitments only: .* \\(index ${String(at)}\\)$`)),
    );
  });

  it('is not proven when the entry is not the one of the event', async () => {
    const other = { ...parsedEntry(events[2]!), body: `sha256:${'0'.repeat(64)}` };
    expect((await verified([...changes, ...events.with(2, other as never)])).code).toBe(1);
    const more = { ...parsedEntry(events[2]!), note: 'read me' };
    expect((await verified([...changes, ...events.with(2, more as never)])).findings).toContain(
      'read: the line is no event',
    );
  });
});

function parsedEntry(event: (typeof events)[number]): object {
  return JSON.parse(entryOf(event)) as object;
}

/** The lines about an export that its checkpoint does not prove. */
async function unprovenOf(lines: readonly object[]): Promise<readonly string[]> {
  const keys = written('keys', `${formatVkey(old.key)}\n`);
  const kept = ['--vkey', keys, '--since', honestCheckpoint(events, third)];
  const { out } = await run('audit', 'verify', written('events.ndjson', lines), ...kept, '--json');
  const last = out.trim().split('\n').at(-1) ?? '';
  return (JSON.parse(last) as { readonly summary: { readonly unproven: readonly string[] } }).summary.unproven;
}

/** A change of the same keys in the next epoch, over the same events. */
function ofNextEpoch(): object {
  const origin = old.key.name.replace(/1$/, '2');
  const signers = [1, 3].map((byte) => createEd25519Signer(origin, new Uint8Array(32).fill(byte)));
  const changed = [...before, keyChanged(before, signers[0]!, signers[1]!)];
  const text = parseNote(honestCheckpoint(changed))!.text.replace(old.key.name, origin);
  return provenIn(changed, formatNote(signNote(text, signers)));
}
