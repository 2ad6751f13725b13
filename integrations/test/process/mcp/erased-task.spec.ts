// An erasure of the values of a call whose task waits, or has ended.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Client as Ledger } from '@countersign/worker-sdk';
import { cleanUpAfterAll } from '../../../../test/process/harness/cleanup.js';
import type { Installation } from '../../../../test/process/harness/standalone.js';
import { approvePending, installLedger, pendingOf } from './mcp-client.js';
import { connectTasks } from './tasks-client.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Ledger;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  ({ place, ledger, env } = await installLedger());
});

const secret = 'hunter2';
const erase = async (runId: string, force: boolean) => {
  const body = { subject: `run:${runId}`, force };
  const answer = await place.http.send({ method: 'POST', path: '/v1/subjects/erase', token: place.tokens.me, body });
  return answer.status;
};
const shownOf = async (callId: string): Promise<string> => {
  const [call, approvals] = await Promise.all([ledger.getToolCall(callId), ledger.listApprovals()]);
  return JSON.stringify([call, approvals]);
};

describe('an erasure while a task waits for a person', () => {
  it('is refused without force, and the task waits on and runs as it was asked', async () => {
    const file = join(place.folder, 'refused-erasure.txt');
    const { ask, pay, completed } = await connectTasks(file, env);
    const { taskId } = await pay(1, { password: secret });
    const { callId } = await pendingOf(ledger, 'pay');
    const { runId } = await ledger.getToolCall(callId);
    expect(await erase(runId, false)).toBe(409);
    expect(await ask('tasks/get', { taskId })).toMatchObject({ status: 'working' });
    await approvePending(ledger, 'pay');
    expect(await completed(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'paid 1' }] } });
  });

  it.each(['the same gate', 'a gate that was started again'])(
    'ends the task with force: no value is shown, no response is taken, and nothing runs, before %s',
    async (gate) => {
      const file = join(place.folder, 'erased.txt');
      const first = await connectTasks(file, env);
      const { taskId } = await first.pay(gate.length, { password: secret });
      const { callId, approvalId, proposal } = await pendingOf(ledger, 'pay');
      const { runId } = await ledger.getToolCall(callId);
      if (gate !== 'the same gate') await first.close();
      expect(await erase(runId, true)).toBe(200);
      const { ask } = gate === 'the same gate' ? first : await connectTasks(file, env);
      const task = await ask('tasks/get', { taskId });
      expect(task).toMatchObject({ taskId, status: 'cancelled' });
      for (const type of ['approve', 'deny'] as const) {
        const response = { decision: { type }, proposalDigest: proposal.digest };
        await expect(ledger.respond(approvalId, response)).rejects.toThrow(/cancelled|resolved/);
      }
      const later = await ask('tasks/get', { taskId });
      expect(later).toMatchObject({ status: 'cancelled' });
      expect(JSON.stringify([task, later]) + (await shownOf(callId))).not.toContain(secret);
      expect(existsSync(file)).toBe(false);
    },
  );
});

describe('an erasure after a task has ended', () => {
  it('leaves the end of a denied task, without its values, also for a later gate', async () => {
    const file = join(place.folder, 'denied-then-erased.txt');
    const first = await connectTasks(file, env);
    const { taskId } = await first.pay(4, { password: secret });
    const { callId, approvalId, proposal } = await pendingOf(ledger, 'pay');
    await ledger.respond(approvalId, { decision: { type: 'deny' }, reason: 'no', proposalDigest: proposal.digest });
    expect(await first.completed(taskId)).toMatchObject({ result: { isError: true } });
    const { runId } = await ledger.getToolCall(callId);
    expect(await erase(runId, true)).toBe(200);
    const later = await connectTasks(file, env);
    for (const { ask } of [first, later]) {
      const task = await ask('tasks/get', { taskId });
      expect(task).toMatchObject({ status: 'completed', result: { isError: true } });
      expect(JSON.stringify(task)).not.toContain(secret);
    }
    expect(await shownOf(callId)).not.toContain(secret);
    expect(existsSync(file)).toBe(false);
  });
});
