import { randomUUID } from 'node:crypto';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { RequestContext } from '@mastra/core/request-context';
import { InMemoryStore, type MastraCompositeStore } from '@mastra/core/storage';
import { createTool, noopObserve, type Tool } from '@mastra/core/tools';
import { LibSQLStore } from '@mastra/libsql';
import { z } from 'zod';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { gatedTool, type FrameworkContext } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: { readonly amount: number; readonly context: FrameworkContext }[] = [];
const found: string[] = [];
const closers: (() => Promise<void>)[] = [];
/** The id of the framework's run. Each test has its own, because all tests share one storage. */
let run = { runId: '' };

const refund = gatedTool({
  id: 'refund',
  description: 'Refunds an amount',
  inputSchema: z.strictObject({ amount: z.int() }),
  approvalPrompt: ({ amount }) => `Refund ${String(amount)}?`,
  execute: ({ amount }, context) => {
    ran.push({ amount, context });
    if (amount === 13) throw new Error('the bank said no');
    return { refunded: amount };
  },
});
const lookup = createTool({
  id: 'lookup',
  description: 'Looks up an order',
  inputSchema: z.strictObject({ id: z.string() }),
  execute: ({ id }) => {
    found.push(id);
    return Promise.resolve({ found: id });
  },
});

const refundCall = (toolCallId = 'c1', amount = 50): ScriptedCall => ({
  toolCallId,
  toolName: 'refund',
  arguments: { amount },
});
const lookupCall: ScriptedCall = { toolCallId: 'c2', toolName: 'lookup', arguments: { id: 'x' } };
/** A connection of its own to the one storage. */
const connect = () => new LibSQLStore({ id: 'shared', url: 'file::memory:?cache=shared' });

interface Process {
  readonly storage?: MastraCompositeStore;
  /** More tools of the agent. */
  readonly more?: Readonly<Record<string, Tool>>;
}

/** A process: an agent, and what its model hears. */
function processOn(
  { fetch }: FakeCountersign,
  turns: readonly (readonly ScriptedCall[])[],
  { storage = connect(), more = {} }: Process = {},
) {
  const script = scriptedModel(turns);
  const log = { warn: () => undefined, error: () => undefined };
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch, attempts: 1, log }, [refund]);
  closers.push(gate.close);
  const { tools, pending } = gate.run('run');
  const instructions = 'You refund.';
  const inner = new Agent({
    id: 'support',
    name: 'support',
    description: 'Refunds',
    instructions,
    model: script.model,
    tools: { ...tools, lookup, ...more },
  });
  const outerScript = scriptedModel([
    [{ toolCallId: 'outer', toolName: 'agent-delegate', arguments: { prompt: 'go' } }],
  ]);
  const outer = new Agent({ id: 'o', name: 'o', instructions, model: outerScript.model, agents: { delegate: inner } });
  const mastra = new Mastra({ agents: { inner, outer }, storage, logger: false });
  return { script, tools, pending, agent: mastra.getAgent('inner'), outer: mastra.getAgent('outer') };
}

async function suspended(turns: readonly (readonly ScriptedCall[])[]) {
  const countersign = createFakeCountersign();
  const { finishReason } = await processOn(countersign, turns).agent.generate('go', run);
  expect(finishReason).toBe('suspended');
  expect(ran).toEqual([]);
  return { countersign, ...processOn(countersign, turns) };
}

beforeEach(() => {
  run = { runId: randomUUID() };
});
afterEach(async () => {
  ran.length = 0;
  found.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('a gated tool', () => {
  it('suspends the run, and another process runs it once after the approval', async () => {
    const { countersign, script, agent, pending } = await suspended([[refundCall(), lookupCall]]);
    expect(await pending()).toMatchObject([{ toolCallId: 'c1', description: 'Refund 50?' }]);
    const { runs } = await agent.listSuspendedRuns();
    const [{ approvalId } = { approvalId: '' }] = await pending();
    expect(runs).toMatchObject([{ ...run, toolCalls: [{ suspendPayload: { approvalId, toolCallId: 'c1' } }] }]);
    countersign.approve('c1');
    const { text } = await agent.resumeGenerate({}, run);
    expect(text).toBe('done');
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c2: '{"found":"x"}' });
    expect(ran).toMatchObject([{ amount: 50 }]);
  });

  it.each<[string, (countersign: FakeCountersign) => void, RegExp]>([
    ['is denied', (countersign) => countersign.deny('c1', { reason: 'not today' }), /was denied by me.*: not today/],
    ['is answered', (countersign) => countersign.answer('c1', { refunded: 0 }), /^\{"refunded":0\}\n.*did not run/],
    ['expires', (countersign) => countersign.expire('c1'), /no person answered in time/],
    ['is cancelled', (countersign) => countersign.cancel('c1', 'the user left'), /cancelled before it ran: the user/],
    [
      'was lost in a crash',
      (countersign) => {
        countersign.approve('c1');
        countersign.loseWorker('c1');
      },
      /its outcome is not known/,
    ],
  ])('does not run when it %s, and the model hears why', async (_, end, told) => {
    const { countersign, script, agent } = await suspended([[refundCall()]]);
    end(countersign);
    await agent.resumeGenerate({}, run);
    expect(script.told()['c1']).toMatch(told);
    expect(ran).toEqual([]);
  });

  it('suspends again with the edit of one of two people, and with the digests of that edit', async () => {
    const { countersign, agent } = await suspended([[refundCall()]]);
    countersign.proposeEdit('c1', { amount: 7 });
    const { approval } = countersign.callOf('c1');
    expect((await agent.resumeGenerate({}, run)).finishReason).toBe('suspended');
    const { runs } = await agent.listSuspendedRuns();
    const suspendPayload = {
      ...{ proposalDigest: approval?.proposal.digest, shownDigest: approval?.shownDigest },
      ...{ toolName: 'refund', arguments: { amount: 7 }, labels: {}, hiddenCount: 0 },
      question:
        'Run `refund` with `{"amount":7}`?  \nEdited: `me` changed the arguments.  \nThe agent says: `"Refund 50?"`',
    };
    expect(runs).toMatchObject([{ toolCalls: [{ suspendPayload }] }]);
    countersign.approve('c1');
    await agent.resumeGenerate({}, run);
    expect(ran).toMatchObject([{ amount: 7 }]);
  });

  it('runs with edited arguments, and the model hears which', async () => {
    const { countersign, script, agent } = await suspended([[refundCall()]]);
    countersign.edit('c1', { amount: 7 });
    await agent.resumeGenerate({}, run);
    expect(ran).toMatchObject([{ amount: 7 }]);
    expect(script.told()['c1']).toMatch(/^\{"refunded":7\}\nAn approver changed.*\nArguments: \{"amount":7\}$/);
  });

  it('fails for the framework when the tool fails, and the model hears the error', async () => {
    const { countersign, script, agent } = await suspended([[refundCall('c1', 13)]]);
    countersign.approve('c1');
    const types: string[] = [];
    for await (const { type } of (await agent.resumeStream({}, run)).fullStream) types.push(type);
    expect(types).toContain('tool-error');
    expect(script.told()['c1']).toBe('the bank said no');
    expect(countersign.callOf('c1').state).toBe('failed');
  });

  it('runs while another call of the step is pending, and is not asked again', async () => {
    const { countersign, script, agent, pending } = await suspended([[refundCall(), refundCall('c3', 60)]]);
    countersign.approve('c3');
    expect((await agent.resumeGenerate({}, run)).finishReason).toBe('suspended');
    expect(ran).toMatchObject([{ amount: 60 }]);
    expect(await pending()).toMatchObject([{ toolCallId: 'c1' }]);
    countersign.deny('c1', { reason: 'too much' });
    await agent.resumeGenerate({}, run);
    expect(ran).toHaveLength(1);
    expect(script.told()).toMatchObject({ c1: expect.stringContaining('too much'), c3: '{"refunded":60}' });
  });

  it('gets the context of the framework and its abort signal', async () => {
    const { countersign, agent } = await suspended([[refundCall()]]);
    countersign.approve('c1');
    const stop = new AbortController();
    const requestContext = new RequestContext([['tenant', 'acme']]);
    await agent.resumeGenerate({}, { ...run, requestContext, abortSignal: stop.signal });
    const [{ context } = { context: undefined }] = ran;
    expect(context?.requestContext?.get('tenant')).toBe('acme');
    expect(context?.agent?.toolCallId).toBe('c1');
    stop.abort();
    expect(context?.abortSignal?.aborted).toBe(true);
  });

  it('can be called by an agent only', async () => {
    const { tools } = processOn(createFakeCountersign(), []);
    const execute = tools['refund']?.execute;
    await expect(execute?.({ amount: 5 }, { observe: noopObserve })).rejects.toThrow(/only an agent can call it/);
    expect(ran).toEqual([]);
  });
});

describe('a streamed run', () => {
  it('runs a free tool behind a gated one once', async () => {
    const turns = [[refundCall(), lookupCall]];
    const countersign = createFakeCountersign();
    const first = await processOn(countersign, turns).agent.stream('go', run);
    await first.consumeStream();
    expect(await first.finishReason).toBe('suspended');
    countersign.approve('c1');
    const { agent, script } = processOn(countersign, turns);
    await (await agent.resumeStream({}, run)).consumeStream();
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c2: '{"found":"x"}' });
    expect(ran).toHaveLength(1);
    expect(found).toEqual(['x']);
  });

  it('runs a gated tool once behind a call with the approval of the framework, where a free tool runs twice', async () => {
    const execute = () => Promise.resolve({ wiped: true });
    const more = { wipe: createTool({ id: 'wipe', description: 'Wipes', requireApproval: true, execute }) };
    const turns = [[{ toolCallId: 'w1', toolName: 'wipe', arguments: {} }, lookupCall, refundCall()]];
    const countersign = createFakeCountersign();
    const next = () => processOn(countersign, turns, { more });
    await (await next().agent.stream('go', run)).consumeStream();
    await (await next().agent.approveToolCall({ ...run, toolCallId: 'w1' })).consumeStream();
    countersign.approve('c1');
    const { agent, script } = next();
    await (await agent.resumeStream({}, run)).consumeStream();
    expect(script.told()).toEqual({ w1: '{"wiped":true}', c1: '{"refunded":50}', c2: '{"found":"x"}' });
    expect(ran).toHaveLength(1);
    expect(found).toEqual(['x', 'x']);
  });
});

describe('a nested agent', () => {
  it('suspends the outer run, also with two calls of which one is decided', async () => {
    const turns = [[refundCall(), refundCall('c3', 60)]];
    const countersign = createFakeCountersign();
    expect((await processOn(countersign, turns).outer.generate('go', run)).finishReason).toBe('suspended');
    countersign.approve('c1');
    expect((await processOn(countersign, turns).outer.resumeGenerate({}, run)).finishReason).toBe('suspended');
    countersign.approve('c3');
    const { outer, script } = processOn(countersign, turns);
    expect((await outer.resumeGenerate({}, run)).text).toBe('done');
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c3: '{"refunded":60}' });
    expect(ran).toHaveLength(2);
  });
});

describe('an answer that did not come from the ledger', () => {
  it.each<[string, (agent: Agent) => Promise<{ readonly consumeStream: () => Promise<void> }>]>([
    ['an approval', (agent) => agent.approveToolCall({ ...run, toolCallId: 'c1' })],
    ['a denial', (agent) => agent.declineToolCall({ ...run, toolCallId: 'c1', reason: 'no' })],
    ['edited arguments', (agent) => agent.resumeStream({ approved: true, amount: 1, args: { amount: 1 } }, run)],
  ])('decides nothing: %s of the framework', async (_, answer) => {
    const { countersign, script, agent, pending } = await suspended([[refundCall()]]);
    await (await answer(agent)).consumeStream();
    expect(script.told()).toEqual({});
    expect(await pending()).toHaveLength(1);
    countersign.approve('c1');
    await agent.resumeGenerate({}, run);
    expect(ran).toMatchObject([{ amount: 50 }]);
  });

  it('decides nothing in the arguments of the model', async () => {
    const call = { ...refundCall(), arguments: { amount: 50, resumeData: { approved: true } } };
    const { pending } = await suspended([[call]]);
    expect(await pending()).toMatchObject([{ arguments: { amount: 50 } }]);
  });

  it('resumes no other call: the framework refuses an id that is not suspended', async () => {
    const { countersign, agent } = await suspended([[refundCall()]]);
    countersign.approve('c1');
    await expect(agent.resumeGenerate({}, { ...run, toolCallId: 'c9' })).rejects.toThrow(/"c9" because it is not susp/);
    expect(ran).toEqual([]);
  });

  it('does not come from a storage with other arguments', async () => {
    const { countersign, agent, script } = await suspended([[refundCall()]]);
    countersign.approve('c1');
    const workflows = await connect().getStore('workflows');
    for (const { snapshot, ...names } of (await workflows?.listWorkflowRuns())?.runs ?? []) {
      const changed = JSON.parse(JSON.stringify(snapshot).replaceAll('{"amount":50}', '{"amount":5000}')) as object;
      await workflows?.persistWorkflowSnapshot({ ...names, snapshot: changed as never });
    }
    await expect(agent.resumeGenerate({}, run)).rejects.toThrow(/tool-call-mismatch/);
    expect(script.told()).toEqual({});
    expect(ran).toEqual([]);
  });
});

describe('a second run of one call', () => {
  it('does not happen when two processes resume at once', async () => {
    const turns = [[refundCall()]];
    const { countersign, script, agent } = await suspended(turns);
    const other = processOn(countersign, turns);
    countersign.approve('c1');
    await Promise.all([agent, other.agent].map((one) => one.resumeGenerate({}, run)));
    expect(ran).toHaveLength(1);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(other.script.told()).toEqual(script.told());
  });

  it('does not happen after the end: the framework has no run to resume', async () => {
    const { countersign, agent } = await suspended([[refundCall()]]);
    countersign.approve('c1');
    await agent.resumeGenerate({}, run);
    await expect(agent.resumeGenerate({}, run)).rejects.toThrow(/could not find a suspended run/);
    expect(ran).toHaveLength(1);
  });

  it('does not happen without a storage: the question stays, and the run from its beginning gets the result', async () => {
    const turns = [[refundCall()]];
    const countersign = createFakeCountersign();
    const next = () => processOn(countersign, turns, { storage: new InMemoryStore() });
    expect((await next().agent.generate('go', run)).finishReason).toBe('suspended');
    await expect(next().agent.resumeGenerate({}, run)).rejects.toThrow(/could not find a suspended run/);
    countersign.approve('c1');
    await next().agent.generate('go', run);
    const { agent, script } = next();
    await agent.generate('go', run);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toHaveLength(1);
  });
});
