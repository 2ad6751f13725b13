// Against a real Countersign: a worker without a framework around it runs what people approved.
import { join } from 'node:path';
import { startKitServer, type KitServer } from '@countersign/conformance';
import { createClient, type Client } from '@countersign/worker-sdk';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { tool } from '@langchain/core/tools';
import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { gateTools, type Gate } from './gate-tools.js';

const ran: number[] = [];
const refund = tool(
  ({ amount }) => {
    ran.push(amount);
    return { refunded: amount };
  },
  { name: 'refund', schema: z.strictObject({ amount: z.int() }) },
);

let server: KitServer;
let approver: Client;
let gate: Gate;

beforeAll(async () => {
  const root = join(import.meta.dirname, '..', '..', '..', '..');
  server = await startKitServer(join(root, 'apps', 'cli', 'bin', 'countersign.js'));
  const { url, agentToken: token, workerToken: resolverToken, approverToken } = server;
  approver = createClient({ url, token: approverToken });
  gate = gateTools({ url, token, resolverToken, agentId: 'agent', tools: [refund] });
});
afterAll(async () => {
  await gate.close();
  await server.stop();
});
beforeEach(() => {
  ran.length = 0;
});

/** Returns the id of a call that is approved, and that no process has run. */
async function approvedCall(runId: string): Promise<string> {
  const call = { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } };
  const [approval] = (await gate.worker.ask({ runId, toolCalls: [call] })).pendingApprovals;
  const { approvalId, proposal, callId } = approval!;
  await approver.respond(approvalId, { decision: { type: 'approve' }, proposalDigest: proposal.digest });
  return callId;
}

describe('an approved call that no framework runs', () => {
  it('is run by `restore`', async () => {
    const runId = randomUUID();
    await approvedCall(runId);
    const { results } = await gate.worker.restore(runId);
    expect(results).toMatchObject([{ status: 'succeeded', output: '{"refunded":50}' }]);
    expect(ran).toEqual([50]);
  });

  it('is run by `serve`', async () => {
    const callId = await approvedCall(randomUUID());
    const serving = new AbortController();
    const served = gate.worker.serve({ signal: serving.signal });
    const { state, output } = await approver.getToolCall(callId, { waitMs: 20_000, until: 'settled' });
    serving.abort();
    await served;
    expect({ state, output }).toEqual({ state: 'succeeded', output: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });
});
