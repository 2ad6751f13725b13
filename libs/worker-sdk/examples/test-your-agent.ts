// How an agent's own tests decide without a server.
import assert from 'node:assert/strict';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { z } from 'zod';

const publish = gateTool({
  name: 'publish',
  inputSchema: z.strictObject({ text: z.string() }),
  needsApproval: true,
  execute: () => assert.fail('no person agreed to this'),
});

const countersign = createFakeCountersign();
const worker = createWorker({
  url: 'http://fake.test',
  token: 'any',
  agentId: 'agent',
  tools: [publish],
  fetch: countersign.fetch,
});

const toolCalls = [{ toolCallId: 'call_1', toolName: 'publish', arguments: { text: 'hello' } }];
const { state } = await worker.step({ runId: 'run-1', toolCalls });
countersign.deny('call_1', { reason: 'not yet' });
const { results } = await worker.wait(state);

assert.equal(results[0]?.status, 'denied');
assert.equal(results[0].reason, 'not yet');
await worker.close();
