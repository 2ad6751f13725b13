// The compiler checks the types of this spec, and jest that they are true.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { AIMessage, HumanMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool, type StructuredToolInterface } from '@langchain/core/tools';
import { MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { gateTools, type Gate } from './gate-tools.js';

const gates: Gate[] = [];
const connection = { url: 'http://fake.test', token: 't', agentId: 'a' };
const refund = tool(({ amount }) => amount, {
  name: 'refund',
  schema: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
});
const lookup = tool(({ id }) => id, { name: 'lookup', schema: z.object({ id: z.string() }) });
const byJsonSchema = tool(() => 'sent', {
  name: 'send',
  schema: { type: 'object', properties: { to: { type: 'string' } } },
});

function opened<G extends Gate>(gate: G): G {
  gates.push(gate);
  return gate;
}

afterEach(() => Promise.all(gates.splice(0).map((gate) => gate.close())));

describe('the options of a tool', () => {
  it('get the input of the tool with this name', async () => {
    const { fetch } = createFakeCountersign();
    const asked: (number | string)[] = [];
    const gate = opened(
      gateTools({
        ...connection,
        fetch,
        tools: [refund, lookup],
        options: {
          refund: {
            needsApproval: ({ amount, currency }) => {
              const known: [number, string] = [amount, currency];
              asked.push(...known);
              return amount > 10;
            },
          },
          lookup: { needsApproval: ({ id }) => id.startsWith('x'), approvalPrompt: ({ id }) => `Look up ${id}?` },
        },
      }),
    );
    const call = { name: 'refund', args: { amount: 5 }, id: 'c1' };
    const model = fakeModel()
      .respond(new AIMessage({ content: '', tool_calls: [call] }))
      .respond(new AIMessage('done'));
    const agent = createAgent({ model, tools: gate.tools, checkpointer: new MemorySaver() });
    const thread = { configurable: { thread_id: 'thread-1' } };
    const { messages } = await agent.invoke({ messages: [new HumanMessage('go')] }, thread);
    expect(messages.at(-1)?.text).toBe('done');
    expect(asked).toEqual([5, 'EUR']);
  });

  it('refuse a member that the input does not have', () => {
    const options = { ...connection, tools: [refund] };
    // @ts-expect-error: the input has an amount, and no sum
    opened(gateTools({ ...options, options: { refund: { needsApproval: ({ sum }) => sum > 10 } } }));
  });

  it('refuse the name of no tool', () => {
    const options = { ...connection, tools: [refund] };
    // @ts-expect-error: there is no tool of this name
    expect(() => gateTools({ ...options, options: { lookup: { needsApproval: false } } })).toThrow(TypeError);
  });

  it('get any JSON object where the type of the tool does not say more', () => {
    const tools: StructuredToolInterface[] = [refund];
    const big = ({ amount }: { readonly [name: string]: unknown }): boolean => Number(amount) > 10;
    opened(gateTools({ ...connection, tools, options: { refund: { needsApproval: big } } }));
    opened(
      gateTools({
        ...connection,
        tools: [byJsonSchema, refund],
        options: {
          send: { needsApproval: ({ to }) => to !== 'me' },
          refund: { needsApproval: ({ amount }) => amount > 1 },
        },
      }),
    );
  });
});
