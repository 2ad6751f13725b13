import { beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
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

const disposition = 'io.modelcontextprotocol/tool-approval-disposition';

const connect = (file: string, options: readonly string[] = []) => connectTasks(file, env, options);

describe('a task of the extension, over stdin and stdout', () => {
  it('waits for a person, and then for the task of the server, which runs once', async () => {
    const file = join(place.folder, 'once.txt');
    const { pay, completed } = await connect(file);
    const { resultType, status, taskId } = await pay(5);
    expect([resultType, status, existsSync(file)]).toEqual(['task', 'working', false]);
    expect((await pay(5))['taskId']).toBe(taskId);
    await approvePending(ledger, 'pay');
    expect(await completed(taskId)).toMatchObject({ status: 'completed', result: { content: [{ text: 'paid 5' }] } });
    expect(readFileSync(file, 'utf8')).toBe('paid 5\n');
    const { calls } = await ledger.listToolCalls({ toolName: 'pay' });
    expect(calls).toMatchObject([{ state: 'succeeded', output: { content: [{ text: 'paid 5' }] } }]);
  });

  it('survives a gate that is killed while people decide, and says with --tool-approval that the tool ran', async () => {
    const file = join(place.folder, 'killed.txt');
    const killed = await connect(file, ['--tool-approval']);
    const created = await killed.pay(6);
    expect(created).toMatchObject({
      _meta: { 'io.modelcontextprotocol/authorization': { remediation: 'available' } },
    });
    process.kill(killed.pid, 'SIGKILL');
    const { ask, completed } = await connect(file, ['--tool-approval']);
    const { taskId } = created;
    expect(await ask('tasks/get', { taskId })).toMatchObject({ taskId, status: 'working' });
    await approvePending(ledger, 'pay');
    expect(await completed(taskId)).toMatchObject({
      status: 'completed',
      result: {
        content: [{ text: 'paid 6' }, { text: 'The tool ran, after its approval.' }],
        _meta: { [disposition]: 'approved-executed' },
      },
    });
    expect(readFileSync(file, 'utf8')).toBe('paid 6\n');
  });

  it('never runs after a denial', async () => {
    const file = join(place.folder, 'denied.txt');
    const { pay, completed } = await connect(file, ['--tool-approval']);
    const { taskId } = await pay(7);
    const { approvalId, proposal } = await pendingOf(ledger, 'pay');
    const decision = { type: 'deny' } as const;
    await ledger.respond(approvalId, { decision, reason: 'no', proposalDigest: proposal.digest });
    expect(await completed(taskId)).toMatchObject({
      status: 'completed',
      result: { isError: true, _meta: { [disposition]: 'denied-not-executed' } },
    });
    expect(existsSync(file)).toBe(false);
  });
});
