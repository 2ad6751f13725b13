// Against a real Countersign: a person can allow later calls in advance, and the framework cannot.
import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, type ApprovalView, type Client } from '@countersign/worker-sdk';
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools, type Gate } from './gate-tools.js';

const cli = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');
const ran: number[] = [];
const refund = gatedTool({
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.strictObject({ amount: z.int() }),
  execute: ({ amount }) => {
    ran.push(amount);
    return { refunded: amount };
  },
});

let server: KitServer;
let approver: Client;
let gate: Gate;

beforeAll(async () => {
  setTracingDisabled(true);
  server = await startKitServer(cli);
  const { url, agentToken: token, workerToken: resolverToken, approverToken } = server;
  approver = createClient({ url, token: approverToken });
  gate = gateTools({ url, token, resolverToken, agentId: 'agent' }, [refund]);
});
afterAll(async () => {
  await gate.close();
  await server.stop();
});
beforeEach(() => {
  ran.length = 0;
});

const refundCall = (toolCallId: string, amount: number): ScriptedCall => ({
  toolCallId,
  toolName: 'refund',
  arguments: { amount },
});

/** An agent in a run whose model makes these calls, one a turn. */
function agentOf(runId: string, ...calls: readonly ScriptedCall[]) {
  const script = scriptedModel(calls.map((call) => [call]));
  const { tools, resume } = gate.run(runId);
  const agent = new Agent({ name: 'support', model: script.model, tools: [...tools] });
  const goOn = async (stored: string) => run(agent, (await resume(agent, stored)).state);
  return { agent, script, goOn };
}

/** Returns the pending approval of a run. */
async function pendingOf(runId: string): Promise<ApprovalView> {
  const [approval] = (await approver.getRun(runId)).pendingApprovals;
  return approval!;
}

describe('a person who approves', () => {
  it('is asked about the next equal call too', async () => {
    const runId = randomUUID();
    const { agent, goOn } = agentOf(runId, refundCall('c1', 50), refundCall('c2', 50));
    const { state } = await run(agent, 'go');
    const { approvalId } = await pendingOf(runId);
    await approver.respond(approvalId, { decision: { type: 'approve' } });
    const { interruptions } = await goOn(state.toString());
    expect(interruptions).toMatchObject([{ rawItem: { callId: 'c2' } }]);
    expect(ran).toEqual([50]);
  });

  it('with `remember` lets the next equal call through without an interruption, and no other call', async () => {
    const runId = randomUUID();
    const { agent, goOn, script } = agentOf(runId, refundCall('c1', 50), refundCall('c2', 50), refundCall('c3', 60));
    const { state } = await run(agent, 'go');
    const { approvalId } = await pendingOf(runId);
    const remember = { match: 'exact', scope: 'run', expiresInMs: 60_000 } as const;
    await approver.respond(approvalId, { decision: { type: 'approve' }, remember });
    const { interruptions } = await goOn(state.toString());
    expect(interruptions).toMatchObject([{ rawItem: { callId: 'c3' } }]);
    expect(ran).toEqual([50, 50]);
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c2: '{"refunded":50}' });
    const [, second] = (await approver.getRun(runId)).calls;
    expect(second).toMatchObject({ toolCallId: 'c2', approval: null, verdict: { outcome: 'allow', automatic: true } });
  });

  it('with the command of the README lets the next equal call through', async () => {
    const readme = readFileSync(join(import.meta.dirname, '..', 'README.md'), 'utf8');
    const [, options = ''] = /`npx countersign approve <approvalId> (.*?)`/.exec(readme) ?? [];
    expect(options).not.toBe('');
    const runId = randomUUID();
    const { agent, goOn } = agentOf(runId, refundCall('c1', 70), refundCall('c2', 70));
    const { state } = await run(agent, 'go');
    const args = ['approve', (await pendingOf(runId)).approvalId, ...options.split(' ')];
    const env = { ...process.env, COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: server.approverToken };
    await promisify(execFile)(process.execPath, [cli, ...args], { env });
    const { interruptions } = await goOn(state.toString());
    expect(interruptions).toEqual([]);
    expect(ran).toEqual([70, 70]);
  });
});
