import { afterEach, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import { modelText } from './model-text.js';
import { createFakeCountersign } from '../testing.js';
import { createWorker } from '../worker.js';

const closers: (() => Promise<void>)[] = [];

afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

const pay = gateTool({
  name: 'pay',
  inputSchema: z.object({ amount: z.int().refine((amount) => amount < 100, 'too much') }),
  needsApproval: true,
  execute: () => Promise.reject(new Error('card declined')),
});

it.each([
  [7, 'card declined'],
  [700, 'The arguments do not match the schema of the tool: /amount: too much'],
])('says that an approver changed the arguments to %j, with which the call failed', async (amount, why) => {
  const { fetch, edit } = createFakeCountersign();
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [pay], fetch });
  closers.push(() => worker.close());
  const call = { runId: 'run', toolCallId: 'c1', toolName: 'pay', arguments: { amount: 50 } };
  await worker.call(call);
  edit('c1', { amount });
  const { result } = await worker.call(call);
  const changed = `An approver changed the arguments.\nArguments: {"amount":${String(amount)}}`;
  expect(result === null ? null : modelText(result)).toBe(`${why}\n${changed}`);
});
