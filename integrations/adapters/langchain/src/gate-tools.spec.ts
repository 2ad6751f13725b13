import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { AIMessage, HumanMessage, ToolMessage, type BaseMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';
import { tool, type StructuredToolInterface, type ToolRunnableConfig } from '@langchain/core/tools';
import { Command, MemorySaver } from '@langchain/langgraph';
import { createAgent } from 'langchain';
import { z } from 'zod';
import { gateTools, type Gate, type GateToolsOptions } from './gate-tools.js';

const ran: unknown[] = [];
const gates: Gate[] = [];
const logged: string[] = [];
const log: GateToolsOptions['log'] = {
  warn: () => undefined,
  error: (_fields, message) => void logged.push(message),
};
const schema = z.strictObject({ amount: z.int() });

const refund = tool(
  ({ amount }) => {
    ran.push(amount);
    if (amount === 13) throw new Error('the bank said no');
    return { refunded: amount };
  },
  { name: 'refund', description: 'Refunds an amount', schema },
);
const lookup = tool(
  ({ id }) => {
    ran.push(id);
    return `found ${id}`;
  },
  { name: 'lookup', description: 'Looks up an order', schema: z.strictObject({ id: z.string() }) },
);

function gateOver(countersign: FakeCountersign, more: Partial<GateToolsOptions> = {}): Gate {
  const { fetch } = countersign;
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [refund], fetch, log, ...more });
  gates.push(gate);
  return gate;
}

const call = (id: string, amount: number) => ({ name: 'refund', args: { amount }, id });
const thread = { configurable: { thread_id: 'thread-1' } };
const go = { messages: [new HumanMessage('go')] };

function agentWith(tools: StructuredToolInterface[], ...calls: { name: string; args: object; id: string }[]) {
  const asking = new AIMessage({ content: '', tool_calls: calls });
  const model = fakeModel().respond(asking).respond(new AIMessage('done'));
  return createAgent({ model, tools, checkpointer: new MemorySaver() });
}

const resultsIn = (messages: readonly BaseMessage[]): Record<string, string> =>
  Object.fromEntries(messages.flatMap((one) => (ToolMessage.isInstance(one) ? [[one.tool_call_id, one.text]] : [])));

afterEach(async () => {
  ran.length = 0;
  logged.length = 0;
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

describe('a tool behind Countersign', () => {
  it('interrupts with what is asked, in the words of the human-in-the-loop middleware', async () => {
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign).tools, call('c1', 50));
    const { __interrupt__: interrupts } = (await agent.invoke(go, thread)) as unknown as {
      __interrupt__: { value: unknown }[];
    };
    expect(interrupts.map(({ value }) => value)).toMatchObject([
      {
        actionRequests: [
          { name: 'refund', args: { amount: 50 }, description: 'The agent says: `"Refunds an amount"`' },
        ],
        reviewConfigs: [{ actionName: 'refund' }],
        countersign: { toolCallId: 'c1' },
      },
    ]);
  });

  it.each([{ decisions: [{ type: 'approve' }] }, true, 'approve', [{ type: 'accept' }]])(
    'does not run on the resume value %j alone',
    async (resume) => {
      const agent = agentWith(gateOver(createFakeCountersign()).tools, call('c1', 50));
      await agent.invoke(go, thread);
      for (let times = 0; times < 3; times += 1) await agent.invoke(new Command({ resume }), thread);
      expect(ran).toEqual([]);
    },
  );

  it('runs only the approved one of two, though one resume value goes to both', async () => {
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign).tools, call('c1', 50), call('c3', 70));
    await agent.invoke(go, thread);
    countersign.approve('c1');
    await agent.invoke(new Command({ resume: 'approve' }), thread);
    expect(ran).toEqual([50]);
    countersign.deny('c3', { reason: 'too much' });
    const { messages } = await agent.invoke(new Command({ resume: 'approve' }), thread);
    expect(resultsIn(messages)).toMatchObject({ c1: '{"refunded":50}', c3: expect.stringContaining('too much') });
    expect(messages.at(-1)?.text).toBe('done');
  });

  it('leaves a free tool of the same turn to run once', async () => {
    const countersign = createFakeCountersign();
    const free = { name: 'lookup', args: { id: 'x' }, id: 'c2' };
    const agent = agentWith([...gateOver(countersign).tools, lookup], call('c1', 50), free);
    await agent.invoke(go, thread);
    countersign.approve('c1');
    const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
    expect(ran.toSorted()).toEqual([50, 'x']);
    expect(resultsIn(messages)).toMatchObject({ c2: 'found x' });
  });

  it('gives the model the error of the tool', async () => {
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign).tools, call('c1', 13));
    await agent.invoke(go, thread);
    countersign.approve('c1');
    const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
    expect(resultsIn(messages)['c1']).toContain('the bank said no');
    expect(countersign.callOf('c1').state).toBe('failed');
  });

  it('ends the run with its output when it is `returnDirect`, and continues with the model after a denial', async () => {
    const countersign = createFakeCountersign();
    const direct = tool(({ amount }) => `paid ${String(amount)}`, { name: 'refund', schema, returnDirect: true });
    const ended = async (threadId: string, decide: (toolCallId: string) => void): Promise<string | undefined> => {
      const config = { configurable: { thread_id: threadId } };
      const agent = agentWith(gateOver(countersign, { tools: [direct] }).tools, call('c1', 50));
      await agent.invoke(go, config);
      decide('c1');
      return (await agent.invoke(new Command({ resume: 1 }), config)).messages.at(-1)?.text;
    };
    expect(await ended('thread-1', countersign.approve)).toBe('paid 50');
    expect(await ended('thread-2', countersign.deny)).toBe('done');
  });

  it('gives the model content blocks as such, and a note after them', async () => {
    const picture = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } };
    const content = [{ type: 'text', text: 'a receipt' }, picture];
    const scan = tool(() => content, { name: 'refund', schema });
    const told = async (decide: (countersign: FakeCountersign) => void): Promise<unknown> => {
      const countersign = createFakeCountersign();
      const agent = agentWith(gateOver(countersign, { tools: [scan] }).tools, call('c1', 50));
      await agent.invoke(go, thread);
      decide(countersign);
      const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
      return messages.find((one) => ToolMessage.isInstance(one))?.content;
    };
    expect(await told(({ approve }) => approve('c1'))).toEqual(content);
    const note = { type: 'text', text: expect.stringContaining('"amount":7') };
    expect(await told(({ edit }) => edit('c1', { amount: 7 }))).toEqual([...content, note]);
    expect(await told(({ answer }) => answer('c1', [{ paid: 50 }]))).toMatch(/^\[\{"paid":50\}\]\n/);
  });

  it('runs with edited arguments', async () => {
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign).tools, call('c1', 50));
    await agent.invoke(go, thread);
    countersign.edit('c1', { amount: 7 });
    const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
    expect(ran).toEqual([7]);
    expect(resultsIn(messages)['c1']).toContain('"amount":7');
  });

  it('asks by its predicate', async () => {
    const needsApproval = ({ amount }: { amount?: unknown }) => Number(amount) > 100;
    const gate = gateOver(createFakeCountersign(), { options: { refund: { needsApproval } } });
    await agentWith(gate.tools, call('c1', 50)).invoke(go, thread);
    expect(ran).toEqual([50]);
  });

  it('does not run while Countersign is away, and the model is told so', async () => {
    const countersign = createFakeCountersign();
    countersign.setAway(true);
    const agent = agentWith(gateOver(countersign, { attempts: 1 }).tools, call('c1', 50));
    const { messages } = await agent.invoke(go, thread);
    expect(resultsIn(messages)['c1']).toMatch(/fake\.test/);
    expect(ran).toEqual([]);
  });

  it('does not run when its schema transforms, because people would see another value', async () => {
    const cents = tool(({ amount }) => ran.push(amount), {
      name: 'refund',
      schema: z.strictObject({ amount: z.number().overwrite((amount) => amount * 100) }),
    });
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign, { tools: [cents] }).tools, call('c1', 5));
    const { messages } = await agent.invoke(go, thread);
    expect(resultsIn(messages)['c1']).toContain('people would see another value');
    expect(() => countersign.callOf('c1')).toThrow();
    expect(ran).toEqual([]);
  });

  it('does not run when its schema refuses its own output, and says that it transforms', async () => {
    const value = z.string().transform((text) => text.length);
    const measure = tool((args) => ran.push(args), { name: 'refund', schema: z.strictObject({ value }) });
    const asked = { name: 'refund', args: { value: 'five' }, id: 'c1' };
    const agent = agentWith(gateOver(createFakeCountersign(), { tools: [measure] }).tools, asked);
    const { messages } = await agent.invoke(go, thread);
    expect(resultsIn(messages)['c1']).toContain('the schema of refund transforms, so people would see another value');
    expect(ran).toEqual([]);
  });

  it('gets the issues of an edit that its schema refuses', async () => {
    const small = z.strictObject({ amount: z.int().refine((amount) => amount < 100, 'too much') });
    const countersign = createFakeCountersign();
    const capped = tool(({ amount }) => ran.push(amount), { name: 'refund', schema: small });
    const agent = agentWith(gateOver(countersign, { tools: [capped] }).tools, call('c1', 50));
    await agent.invoke(go, thread);
    countersign.edit('c1', { amount: 700 });
    const { messages } = await agent.invoke(new Command({ resume: 1 }), thread);
    expect(resultsIn(messages)['c1']).toMatch(
      /too much[^]*An approver changed the arguments\.\nArguments: {"amount":700}/,
    );
    expect(ran).toEqual([]);
  });

  it('aborts with the signal of the agent', async () => {
    const abort = new AbortController();
    const slow = tool(
      (_args, { signal }: ToolRunnableConfig) => {
        signal?.addEventListener('abort', () => ran.push('aborted'));
        abort.abort();
      },
      { name: 'refund', schema },
    );
    const gate = gateOver(createFakeCountersign(), { tools: [slow], options: { refund: { needsApproval: false } } });
    const agent = agentWith(gate.tools, call('c1', 50));
    await expect(agent.invoke(go, { ...thread, signal: abort.signal })).rejects.toThrow();
    await gate.close();
    expect(ran).toEqual(['aborted']);
  });

  it.each([{ expiresInMS: 1000 }, { needApproval: false }, { allowedDecisions: ['aprove'] }])(
    'is a TypeError with the options %j',
    (refundOptions) => {
      const options = { refund: refundOptions } as NonNullable<GateToolsOptions['options']>;
      expect(() => gateOver(createFakeCountersign(), { options })).toThrow(/^tool refund: /);
    },
  );

  it('says that it needs a thread', async () => {
    const [gated] = gateOver(createFakeCountersign()).tools;
    const config: ToolRunnableConfig = {};
    const told: unknown = await gated!.invoke({ ...call('c1', 50), type: 'tool_call' }, config);
    const text = 'The tool did not run: refund needs a checkpointer and a thread_id to ask people.';
    expect(told).toMatchObject({ status: 'error', content: text });
    expect(logged).toEqual([text]);
  });

  it('must be one of the given tools to have options', () => {
    const options = { refudn: {} };
    expect(() => gateOver(createFakeCountersign(), { options })).toThrow('options for refudn');
  });
});

describe('a call that was written into the checkpoint', () => {
  const rewritten = async (id: string, amount: number) => {
    const countersign = createFakeCountersign();
    const agent = agentWith(gateOver(countersign).tools, call('c1', 50));
    await agent.invoke(go, thread);
    const { values } = (await agent.graph.getState(thread)) as { values: { messages: BaseMessage[] } };
    const replaced = values.messages.at(-1)?.id ?? '';
    const changed = new AIMessage({ id: replaced, content: '', tool_calls: [call(id, amount)] });
    await agent.graph.updateState(thread, { messages: [changed] }, 'model_request');
    countersign.approve('c1');
    const { messages } = await agent.invoke(new Command({ resume: 'go' }), thread);
    expect(ran).toEqual([]);
    return { countersign, told: resultsIn(messages) };
  };

  it('does not run in the place of the approved one', async () => {
    expect((await rewritten('c1', 5000)).told['c1']).toMatch(/tool-call-mismatch/);
  });

  it('is asked about like one of the model', async () => {
    const { countersign } = await rewritten('c9', 5000);
    expect(countersign.callOf('c9').state).toBe('awaiting_approval');
  });
});

describe('a call that the code of a tool denies', () => {
  it('does not run, no person is asked, and the model gets the reason', async () => {
    const countersign = createFakeCountersign();
    const decide = ({ amount }: { readonly amount: number }) =>
      amount > 40 ? { deny: 'made by hand' } : amount > 10 ? ('ask' as const) : ('allow' as const);
    const { tools } = gateOver(countersign, { tools: [refund], options: { refund: { decide } } } as never);
    const agent = agentWith([...tools], call('denied', 50), call('free', 5), call('asked', 20));
    const { messages } = await agent.invoke(go, thread);
    expect(countersign.callOf('denied')).toMatchObject({ state: 'blocked', approval: null });
    expect(countersign.callOf('asked')).toMatchObject({ state: 'awaiting_approval' });
    countersign.approve('asked');
    const end = await agent.invoke(new Command({ resume: true }), thread);
    expect(messages).toBeDefined();
    expect(resultsIn(end.messages)['denied']).toBe('The call was denied and did not run: made by hand');
    expect(ran.toSorted()).toEqual([20, 5]);
  });
});
