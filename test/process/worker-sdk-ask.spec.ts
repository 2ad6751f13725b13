import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ApprovalView } from '@countersign/contracts';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { eventually } from './harness/wait.js';
import { startWorld, type AgentProcess, type World } from './worker-sdk/setup.js';

cleanUpAfterEach();

/** A process whose tool asks a person in the middle. */
function startAsking(world: World, folder: string, settings: Readonly<Record<string, string>> = {}): AgentProcess {
  return world.startAgent(folder, { ASKS: 'yes', ...settings });
}

function folderOfAgent(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'go'), '');
  return folder;
}

function untilQuestion({ me }: World): Promise<ApprovalView> {
  return eventually('the question', async () => (await me.listApprovals({ state: 'pending' })).approvals[0]);
}

const linesThat = (agent: AgentProcess, start: string): readonly string[] =>
  agent.notes().filter((line) => line.startsWith(start));

test('a tool asks in the middle, a person answers, and the tool goes on with the answer', async () => {
  const world = await startWorld();
  const agent = startAsking(world, folderOfAgent());
  const { approvalId, allowedDecisions, description } = await untilQuestion(world);
  expect({ allowedDecisions, description }).toEqual({ allowedDecisions: ['deny', 'answer'], description: 'How many?' });
  expect(linesThat(agent, 'end')).toEqual([]);
  await world.me.respond(approvalId, { decision: { type: 'answer', output: 3 } });
  await agent.ended;
  expect(linesThat(agent, 'answered')).toEqual(['answered 3']);
  expect(agent.results()).toMatchObject([{ toolCallId: 'c1', status: 'succeeded' }]);
});

test('a tool that was killed while it asked gets the answer to that question in its next attempt', async () => {
  const world = await startWorld();
  const folder = folderOfAgent();
  const first = startAsking(world, folder, { IDEMPOTENT: 'yes' });
  const { approvalId } = await untilQuestion(world);
  await first.kill();
  await world.kill();
  await world.restart();
  await world.me.respond(approvalId, { decision: { type: 'answer', output: 4 } });
  const second = startAsking(world, folder, { IDEMPOTENT: 'yes' });
  await second.ended;
  expect(linesThat(second, 'answered')).toEqual(['answered 4']);
  expect(second.results()).toMatchObject([{ status: 'succeeded' }]);
  const { calls } = await world.me.getRun('run-of-a-process');
  expect(calls.filter(({ toolCallId }) => toolCallId.startsWith('ask-'))).toHaveLength(1);
});

test('a tool that may not run again, killed while it asked, stays unknown', async () => {
  const world = await startWorld();
  const folder = folderOfAgent();
  const first = startAsking(world, folder);
  const { approvalId } = await untilQuestion(world);
  await first.kill();
  await world.me.respond(approvalId, { decision: { type: 'answer', output: 5 } });
  const second = startAsking(world, folder);
  await second.ended;
  expect(linesThat(second, 'begin')).toHaveLength(1);
  expect(linesThat(second, 'answered')).toEqual([]);
  expect(second.results()).toMatchObject([{ status: 'unknown' }]);
});
