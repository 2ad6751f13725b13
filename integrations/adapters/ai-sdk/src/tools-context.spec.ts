// The compiler checks the types of this spec, and jest that they are true.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, streamText, tool, ToolLoopAgent } from 'ai';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const ran: unknown[] = [];
const tools = {
  refund: tool({
    inputSchema: z.strictObject({ amount: z.number() }),
    contextSchema: z.object({ user: z.string() }),
    execute: ({ amount }, { context }) => {
      ran.push([amount, context.user]);
      return amount;
    },
  }),
  lookup: tool({ inputSchema: z.strictObject({ id: z.string() }), execute: ({ id }) => id }),
};
const toolsContext = { refund: { user: 'u1' } };

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

function gated() {
  const { fetch } = createFakeCountersign();
  const free = { needsApproval: false };
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch };
  const gate = gateTools(options, tools, { refund: free, lookup: free });
  closers.push(gate.close);
  const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]]);
  const { tools: ours, toolApproval } = gate.run('run');
  return { model, tools: ours, toolApproval, stopWhen: isStepCount(4) };
}

describe('the context of a gated tool', () => {
  it.each([
    ['generateText', async () => (await generateText({ ...gated(), prompt: 'go', toolsContext })).text],
    ['streamText', async () => streamText({ ...gated(), prompt: 'go', toolsContext }).text],
    [
      'ToolLoopAgent',
      async () => (await new ToolLoopAgent({ ...gated(), toolsContext }).generate({ prompt: 'go' })).text,
    ],
  ])('comes from `toolsContext` of %s', async (_, text) => {
    expect(await text()).toBe('done');
    expect(ran).toEqual([[50, 'u1']]);
  });

  it('is required, and has the type of its schema', async () => {
    // @ts-expect-error: the user is missing
    const withoutUser = generateText({ ...gated(), prompt: 'go', toolsContext: { refund: {} } });
    await expect(withoutUser).rejects.toThrow(/tool context \(refund\)/);
    // @ts-expect-error: the context is missing
    await expect(generateText({ ...gated(), prompt: 'go' })).rejects.toThrow(/tool context \(refund\)/);
    expect(ran).toEqual([]);
  });
});
