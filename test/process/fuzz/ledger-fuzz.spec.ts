import { expect, test } from '@jest/globals';
import { openLedgerWorld, createRequestMessage } from '@countersign/ledger/testing';
import { createRandom, seedOfRun } from '../harness/random.js';
import { createHostile, fuzzMs } from './hostile.js';

/** Processor time, not wall time: how busy the machine is otherwise makes no difference. */
const cpuMsMax = 10_000;

const types = [
  'ToolCallRequested',
  'ApprovalRequested',
  'ToolCallCancelled',
  'ToolOutputSubmitted',
  'ApprovalResponded',
  '',
];

test(
  'hostile messages are handled or parked, and none occupies the process for seconds',
  async () => {
    const seed = seedOfRun();
    const random = createRandom(seed);
    const hostile = createHostile(random);
    const world = await openLedgerWorld();
    const until = performance.now() + fuzzMs();
    const outcomes = new Set<string>();
    for (let round = 0; performance.now() < until; round += 1) {
      const type = random.chance(0.7) ? 'ToolCallRequested' : random.pick(types);
      const headers = random.chance(0.1) ? { ce_source: '\u0000'.repeat(random.int(0, 5000)) } : {};
      const message = createRequestMessage(type, hostile.body(`run-${round}`), headers);
      const before = process.cpuUsage();
      const { outcome, transient } = await world.deliver(message);
      const { user, system } = process.cpuUsage(before);
      outcomes.add(outcome);
      // A transient failure would be retried: hostile input must never look like an outage.
      expect([seed, round, transient]).toEqual([seed, round, 0]);
      expect([seed, round, (user + system) / 1000 < cpuMsMax]).toEqual([seed, round, true]);
    }
    await world.close();
    expect(outcomes).toContain('handled');
  },
  120_000 + fuzzMs(),
);
