import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { startWorld, untilNoted } from './worker-sdk/setup.js';
import type { World } from './worker-sdk/setup.js';

cleanUpAfterEach();

/** A process has asked for approvals, all are given, and it is killed before it runs anything. */
async function approvedAndLost({ me, startAgent }: World, calls: number): Promise<string> {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'go'), '');
  const asking = startAgent(folder, { GATED: 'yes', ROLE: 'ask', CALLS: String(calls) });
  await untilNoted(asking, 'asked');
  const { approvals } = await me.listApprovals({ state: 'pending' });
  expect(approvals).toHaveLength(calls);
  for (const { approvalId } of approvals) await me.respond(approvalId, { decision: { type: 'approve' } });
  await asking.kill();
  return folder;
}

async function untilSucceeded({ me }: World, calls: number): Promise<void> {
  await eventually(`${String(calls)} successes`, async () => {
    const page = await me.listToolCalls({ state: ['succeeded'] });
    return page.calls.length === calls ? true : undefined;
  });
}

const begun = (notes: readonly string[]): readonly string[] => notes.filter((line) => line.startsWith('begin'));

test('a new process runs once what was approved for one that was killed', async () => {
  const world = await startWorld();
  const folder = await approvedAndLost(world, 1);
  const serving = world.startAgent(folder, { GATED: 'yes', ROLE: 'serve' });
  await untilSucceeded(world, 1);
  expect(begun(serving.notes())).toHaveLength(1);
});

test('two processes that serve at once run each call once, and go on after a restart of the server', async () => {
  const world = await startWorld();
  const folder = await approvedAndLost(world, 20);
  const first = world.startAgent(folder, { GATED: 'yes', ROLE: 'serve' });
  world.startAgent(folder, { GATED: 'yes', ROLE: 'serve' });
  await untilSucceeded(world, 20);
  const numbers = begun(first.notes()).map((line) => line.split(' ')[1]);
  expect(new Set(numbers).size).toBe(20);
  expect(numbers).toHaveLength(20);

  await world.kill();
  await world.restart();
  const asking = world.startAgent(folder, { GATED: 'yes', ROLE: 'ask', CALLS: '21' });
  await eventually('the second asking', () =>
    asking.notes().filter((line) => line === 'asked').length === 2 ? true : undefined,
  );
  const { approvals } = await world.me.listApprovals({ state: 'pending' });
  for (const { approvalId } of approvals) await world.me.respond(approvalId, { decision: { type: 'approve' } });
  await untilSucceeded(world, 21);
  expect(begun(first.notes())).toHaveLength(21);
});
