// An agent that another one uses as a tool, behind the gate, with gated tools of its own.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { gatedAgentTool, type GatedAgentToolOptions } from './agent-tool.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const refunded: number[] = [];
const heard: unknown[] = [];
const closers: (() => Promise<void>)[] = [];
const refund = gatedTool({
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.strictObject({ amount: z.int() }),
  execute: ({ amount }) => void refunded.push(amount),
});
const refundCall: ScriptedCall = { toolCallId: 'inner', toolName: 'refund', arguments: { amount: 50 } };
const delegateCall = (toolCallId = 'outer', input = 'go'): ScriptedCall => ({
  toolCallId,
  toolName: 'delegate',
  arguments: { input },
});

/** A process in which one agent uses another as a tool. */
function processOn(
  { fetch }: Pick<FakeCountersign, 'fetch'>,
  innerTurns: readonly (readonly ScriptedCall[])[],
  outerTurn: readonly ScriptedCall[] = [delegateCall()],
  more: Partial<GatedAgentToolOptions> = {},
) {
  const inner = scriptedModel(innerTurns);
  const delegate = gatedAgentTool({
    agent: (tools) => new Agent({ name: 'inner', model: inner.model, tools: [...tools] }),
    toolName: 'delegate',
    toolDescription: 'Delegates',
    ...more,
  });
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch, attempts: 1 }, [refund, delegate]);
  closers.push(gate.close);
  const { tools, resume } = gate.run('run');
  const outer = scriptedModel([outerTurn]);
  const agent = new Agent({
    name: 'outer',
    model: outer.model,
    tools: tools.filter(({ name }) => name === 'delegate'),
  });
  const goOn = async (stored: string) => run(agent, (await resume(agent, stored)).state);
  return { agent, inner, outer, goOn, resume, worker: gate.worker };
}

beforeAll(() => {
  setTracingDisabled(true);
});
afterEach(async () => {
  refunded.length = 0;
  heard.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('an agent as a tool behind the gate', () => {
  it('runs once after the approval, and its output is recorded', async () => {
    const countersign = createFakeCountersign();
    const { agent, inner } = processOn(countersign, []);
    const { interruptions, state } = await run(agent, 'go');
    expect(interruptions).toMatchObject([{ name: 'delegate' }]);
    expect(inner.model.calls).toHaveLength(0);
    countersign.approve('outer');
    const second = processOn(countersign, []);
    const { finalOutput } = await second.goOn(state.toString());
    expect(finalOutput).toBe('done');
    expect(second.outer.told()).toEqual({ outer: 'done' });
    expect(countersign.callOf('outer')).toMatchObject({ state: 'succeeded', output: 'done' });
    const third = processOn(countersign, []);
    await third.goOn(state.toString());
    expect([third.inner.model.calls.length, third.outer.told()]).toEqual([0, { outer: 'done' }]);
  });

  it('does not run when a person denies it, and gets the arguments of an edit', async () => {
    const countersign = createFakeCountersign();
    const calls = [delegateCall('denied'), delegateCall('edited')];
    const { state } = await run(processOn(countersign, [], calls).agent, 'go');
    countersign.deny('denied', { reason: 'not today' });
    countersign.edit('edited', { input: 'go slowly' });
    const { inner, outer, goOn } = processOn(countersign, [], calls);
    await goOn(state.toString());
    expect(outer.told()['denied']).toContain('not today');
    expect(inner.model.calls.map(({ request }) => request.input)).toMatchObject([[{ content: 'go slowly' }]]);
  });

  it('waits for people in the middle, in several processes, and each of its tools runs once', async () => {
    const countersign = createFakeCountersign();
    const first = await run(processOn(countersign, [[refundCall]]).agent, 'go');
    countersign.approve('outer');
    const second = await processOn(countersign, [[refundCall]]).goOn(first.state.toString());
    expect(second.interruptions).toMatchObject([{ name: 'refund' }]);
    expect(countersign.callOf('outer')).toMatchObject({ state: 'succeeded', output: { waitsForPeople: true } });
    const still = processOn(countersign, [[refundCall]]);
    expect((await still.resume(still.agent, second.state.toString())).pending).toMatchObject([{ toolName: 'refund' }]);
    countersign.approve('inner');
    const { outer, goOn } = processOn(countersign, [[refundCall]]);
    const { finalOutput } = await goOn(second.state.toString());
    expect([finalOutput, outer.told(), refunded]).toEqual(['done', { outer: 'done' }, [50]]);
    const lost = processOn(countersign, [[refundCall]]);
    await lost.goOn(first.state.toString());
    expect(lost.outer.told()).toEqual({ outer: 'delegate waits for people in another copy of this run.' });
    expect([lost.inner.model.calls.length, refunded]).toEqual([0, [50]]);
  });

  it('fails in the ledger when the agent fails', async () => {
    const countersign = createFakeCountersign();
    const failing = () =>
      new Agent({
        name: 'inner',
        model: scriptedModel([]).model,
        instructions: () => Promise.reject(new Error('no instructions')),
      });
    const { agent, outer } = processOn(countersign, [], [delegateCall()], { agent: failing, needsApproval: false });
    await run(agent, 'go');
    expect(countersign.callOf('outer')).toMatchObject({
      state: 'failed',
      error: { message: 'The agent of delegate failed' },
    });
    expect(outer.told()).toEqual({ outer: 'The agent of delegate failed' });
  });

  it('is allowed, asked about or denied in code', async () => {
    const countersign = createFakeCountersign();
    const calls = ['allow', 'ask', 'deny'].map((input) => delegateCall(input, input));
    const decide: GatedAgentToolOptions['decide'] = ({ input }) =>
      input === 'allow' || input === 'ask' ? input : { deny: 'not this one' };
    const { agent, inner } = processOn(countersign, [], calls, { decide });
    const { interruptions } = await run(agent, 'go');
    expect(interruptions).toMatchObject([{ rawItem: { callId: 'ask' } }]);
    expect(countersign.callOf('deny')).toMatchObject({ state: 'blocked', approval: null });
    expect(inner.model.calls).toHaveLength(1);
  });

  it('runs in a worker without the framework, where it cannot wait for people', async () => {
    const countersign = createFakeCountersign();
    const stop = new AbortController();
    await run(processOn(countersign, []).agent, 'go');
    countersign.approve('outer');
    const { worker } = processOn(countersign, []);
    const serving = worker.serve({ signal: stop.signal });
    while (countersign.callOf('outer').settledAt === null) await new Promise((resolve) => setTimeout(resolve, 2));
    expect(countersign.callOf('outer')).toMatchObject({ state: 'succeeded', output: 'done' });
    stop.abort(new Error('the test is over'));
    await serving;
  });

  it('keeps the options of the framework, and refuses others', async () => {
    const countersign = createFakeCountersign();
    const { agent, outer } = processOn(countersign, [], [delegateCall()], {
      needsApproval: false,
      onStream: (event) => void heard.push(event.event.type),
      customOutputExtractor: ({ finalOutput }) => `it said ${String(finalOutput)}`,
    });
    await run(agent, 'go');
    expect(outer.told()).toEqual({ outer: 'it said done' });
    expect(heard.length).toBeGreaterThan(0);
    const other = { toolName: 'x', toolDescription: 'x', agent: () => agent, timeoutMs: 5 };
    expect(() => gatedAgentTool(other)).toThrow('does not take `timeoutMs`');
  });
});
