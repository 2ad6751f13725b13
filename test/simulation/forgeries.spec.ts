import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createVerification, readAnchors } from '@countersign/audit';
import { honestCheckpoint, testSigner } from '@countersign/audit/testing';
import type { StoredEvent } from '@countersign/contracts';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { forgeries } from './forgeries.ts';
import type { Forgery } from './forgeries.ts';
import { sim, simTimeoutMs } from './sim.ts';

const isNightly = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1';
const worlds = isNightly ? 40 : 3;
const runs = isNightly ? 4_000 : 80;
const firstSeed = 1 + (Number(process.env['COUNTERSIGN_TEST_SEED'] ?? '7000') % 1_000_000);

const folder = mkdtempSync(join(tmpdir(), 'countersign-forgeries-'));
let logs: readonly (readonly StoredEvent[])[] = [];

beforeAll(() => {
  sim(['--log', folder], { FIRST_SEED: String(firstSeed), SEEDS: String(worlds) });
  logs = readdirSync(folder).map((file) =>
    readFileSync(join(folder, file), 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as StoredEvent),
  );
}, simTimeoutMs);

afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

/** Verifies a log whose owner has its key: its tree and its newest checkpoint are those of what it is now. */
function verified(events: readonly StoredEvent[], since: string | null) {
  const indexes: number[] = [];
  const verification = createVerification({
    keys: [testSigner.key],
    since: since === null ? [] : (readAnchors(since) ?? []),
    kept: readAnchors(honestCheckpoint(events)) ?? [],
    streams: new Map(),
    onFinding: ({ index }) => indexes.push(index),
  });
  events.forEach(verification.take);
  const { exit, unproven } = verification.end();
  return { exit, unproven, first: Math.min(...indexes) };
}

/** The sentence of what is not proven, and of how many events. */
function doubtsOf(unproven: readonly string[]): ReadonlyMap<string, number> {
  return new Map(unproven.map((line) => [line.replace(/^\d+ events?/, ''), Number(/^\d+/.exec(line)?.[0] ?? 0)]));
}

function hasMore(doubts: readonly string[], before: readonly string[]): boolean {
  const known = doubtsOf(before);
  return [...doubtsOf(doubts)].some(([what, count]) => count > (known.get(what) ?? -1));
}

interface Forged {
  readonly log: readonly StoredEvent[];
  readonly forgery: Forgery;
}

/** One forgery of one of the logs. */
const forged = fc
  .tuple(fc.nat(), fc.nat(), fc.constantFrom(...forgeries), fc.nat())
  .map(([which, at, forge, seed]): Forged | undefined => {
    const log = logs[which % logs.length] ?? [];
    const forgery = forge(log, at % log.length, seed);
    return forgery && { log, forgery };
  })
  .filter((one) => one !== undefined)
  .map((one) => ({ ...one, [fc.toStringMethod]: () => one.forgery.what }));

it('worlds of the simulation leave logs that are proven', () => {
  expect(logs).toHaveLength(worlds);
  for (const log of logs) expect(verified(log, honestCheckpoint(log)).exit).toBe(0);
});

it('a forgery before a checkpoint that was kept is found, and an index at or before it is named', () => {
  fc.assert(
    fc.property(forged, ({ log, forgery: { events, at } }) => {
      // What is added at the end comes after the checkpoint.
      if (at === log.length) return;
      const { exit, first } = verified(events, honestCheckpoint(log));
      expect(exit).toBe(1);
      expect(first).toBeLessThanOrEqual(at);
    }),
    { numRuns: runs },
  );
});

it('a forgery that nothing was kept of is found or listed by the rules, unless it is one that nobody can find', () => {
  fc.assert(
    fc.property(forged, ({ log, forgery: { events, isHidden } }) => {
      if (isHidden) return;
      const { exit, unproven } = verified(events, null);
      const honest = verified(log, null);
      expect(exit === 1 || hasMore(unproven, honest.unproven)).toBe(true);
    }),
    { numRuns: runs },
  );
});
