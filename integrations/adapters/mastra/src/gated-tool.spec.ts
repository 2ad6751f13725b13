// A tool that was declared with the framework's `createTool`, and is moved to `gatedTool`.
import { randomUUID } from 'node:crypto';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool, type GatedToolOptions } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];
const inputSchema = z.strictObject({ amount: z.int() });
type Options = GatedToolOptions<typeof inputSchema>;

const existing = {
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema,
  execute: ({ amount }: { readonly amount: number }) => {
    ran.push(amount);
    return { refunded: amount };
  },
};

/** A process whose model asks for a refund of 50. */
function world(options: Partial<Options>) {
  const countersign = createFakeCountersign();
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch }, [
    gatedTool({ ...existing, ...options }),
  ]);
  closers.push(gate.close);
  const { tools } = gate.run('run');
  const { model, told } = scriptedModel([[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]]);
  const agent = new Agent({ id: 's', name: 's', instructions: 'You refund.', model, tools });
  const mastra = new Mastra({ agents: { agent }, storage: new InMemoryStore(), logger: false });
  return { countersign, tools, told, agent: mastra.getAgent('agent') };
}

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('an option of the framework', () => {
  it('reaches the tool of the framework unchanged', () => {
    const options = {
      title: 'Refund',
      strict: true,
      providerOptions: { openai: { x: 1 } },
      inputExamples: [{ input: { amount: 5 } }],
      requestContextSchema: z.object({ tenant: z.string() }),
      transform: { display: { input: () => 'hidden' } },
      mcp: { annotations: { destructiveHint: true } },
      mcpMetadata: { serverName: 'bank' },
      onInputStart: () => undefined,
      onInputDelta: () => undefined,
      onInputAvailable: () => undefined,
      onOutput: () => undefined,
    } satisfies Partial<Options>;
    expect(world(options).tools['refund']).toMatchObject(options);
  });

  it('that transforms what others see does not change what runs', async () => {
    const hidden = { input: () => ({ amount: 1 }), suspend: () => 'hidden' };
    const { agent, countersign } = world({ transform: { display: hidden, transcript: hidden } });
    const run = { runId: randomUUID() };
    await agent.generate('go', run);
    countersign.approve('c1');
    await agent.resumeGenerate({}, run);
    expect(ran).toEqual([50]);
  });

  it.each([
    ['requireApproval', true, /`requireApproval`: use `needsApproval`/],
    ['outputSchema', z.object({}), /the output is a text/],
    ['toModelOutput', () => 'x', /the output is a text/],
    ['suspendSchema', z.object({}), /Countersign asks people/],
    ['resumeSchema', z.object({}), /Countersign asks people/],
    ['background', { enabled: true }, /Countersign asks people/],
    ['mastra', {}, /the framework sets it/],
    ['needApproval', true, /tool refund: gatedTool does not take `needApproval`: it is no option of it/],
  ])('that cannot be kept is a TypeError: %s', (member, value, message) => {
    const options = { ...existing, [member]: value };
    expect(() => gatedTool(options)).toThrow(TypeError);
    expect(() => gatedTool(options)).toThrow(message);
  });

  it('that cannot be kept is an error of the types', () => {
    // @ts-expect-error: use needsApproval
    expect(() => gatedTool({ ...existing, requireApproval: true })).toThrow(TypeError);
    // @ts-expect-error: there is no such option
    expect(() => gatedTool({ ...existing, needApproval: true })).toThrow(TypeError);
  });
});

describe('a call that the code of a tool denies', () => {
  it('does not run, no person is asked, and the run goes on', async () => {
    const { agent, countersign, told } = world({ decide: () => ({ deny: 'made by hand' }) });
    const { finishReason } = await agent.generate('go', { runId: randomUUID() });
    expect(finishReason).not.toBe('suspended');
    expect(told()['c1']).toContain('made by hand');
    expect(countersign.callOf('c1')).toMatchObject({ state: 'blocked', approval: null });
    expect(ran).toEqual([]);
  });

  it('runs without a question where the code allows it', async () => {
    const { agent, countersign } = world({ decide: () => 'allow' });
    await agent.generate('go', { runId: randomUUID() });
    expect(countersign.callOf('c1')).toMatchObject({ state: 'succeeded', approval: null });
  });
});
