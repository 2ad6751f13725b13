import { afterEach, expect, it } from '@jest/globals';
import { createClient, createWorker, gateTool, type Client } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { createCardWatch, type CardWatch } from './card-watch.js';
import { until } from '../testing/until.js';

const watches: CardWatch[] = [];
afterEach(() => {
  for (const watch of watches.splice(0)) watch.close();
});

/** Cards of calls that wait for a person, and a watch that has few attempts per request. */
async function open() {
  const countersign = createFakeCountersign();
  const connection = { url: 'http://fake.test', token: 'a', fetch: countersign.fetch, attempts: 1 };
  const tools = [gateTool({ name: 'pay', inputSchema: { type: 'object' }, needsApproval: true, execute: () => null })];
  const worker = createWorker({ ...connection, agentId: 'spec', tools });
  const client = createClient(connection);
  const decided: string[] = [];
  let reading = 0;
  const getToolCall: Client['getToolCall'] = async (callId, options) => {
    reading += 1;
    try {
      return await client.getToolCall(callId, options);
    } finally {
      reading -= 1;
    }
  };
  const watch = createCardWatch({ getToolCall }, (approvalId) => decided.push(approvalId));
  watches.push(watch);
  const ask = async (toolCallId: string) => {
    await worker.step({ runId: 'run', toolCalls: [{ toolCallId, toolName: 'pay', arguments: {} }] });
    const { approval } = countersign.callOf(toolCallId);
    if (approval === null) throw new Error('the call needs no person');
    return approval;
  };
  return { countersign, watch, ask, decided, reading: () => reading };
}

it('tells of a decision that comes after Countersign was away', async () => {
  const { countersign, watch, ask, decided, reading } = await open();
  const approval = await ask('call_1');
  countersign.setAway(true);
  watch.watch(approval);
  await until(() => reading() === 1);
  await new Promise((resolve) => setTimeout(resolve, 50));
  countersign.setAway(false);
  countersign.approve('call_1');
  await until(() => decided.length === 1);
  expect(decided).toEqual([approval.approvalId]);
});

it('tells of each of 40 decisions, with at most 32 reads at once', async () => {
  const { countersign, watch, ask, decided, reading } = await open();
  const ids = Array.from({ length: 40 }, (_, index) => `call_${index}`);
  const approvals = await Promise.all(ids.map(ask));
  for (const approval of approvals) watch.watch(approval);
  await until(() => reading() === 32);
  for (const id of ids) countersign.approve(id);
  await until(() => decided.length === 40);
  expect(new Set(decided)).toEqual(new Set(approvals.map(({ approvalId }) => approvalId)));
});
