import { NotApprovedError } from '@countersign/worker-sdk';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Agent, run, RunState, setTracingDisabled, tool, ToolCallError } from '@openai/agents';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: { readonly amount: number; readonly signal: AbortSignal | undefined; readonly context: unknown }[] = [];
const closers: (() => Promise<void>)[] = [];

const refund = gatedTool({
  name: 'refund',
  description: 'Refunds an amount',
  parameters: z.strictObject({ amount: z.int() }),
  approvalPrompt: ({ amount }) => `Refund ${String(amount)}?`,
  execute: ({ amount }, runContext, details) => {
    ran.push({ amount, signal: details?.signal, context: runContext?.context });
    if (amount === 13) throw new Error('the bank said no');
    return { refunded: amount };
  },
});
const lookup = tool({
  name: 'lookup',
  description: 'Looks up an order',
  parameters: z.strictObject({ id: z.string() }),
  execute: ({ id }) => ({ found: id }),
});

const refundCall = (toolCallId = 'c1', amount = 50): ScriptedCall => ({
  toolCallId,
  toolName: 'refund',
  arguments: { amount },
});
const lookupCall: ScriptedCall = { toolCallId: 'c2', toolName: 'lookup', arguments: { id: 'x' } };

function gateOn({ fetch }: FakeCountersign, attempts?: number) {
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch, attempts }, [refund]);
  closers.push(gate.close);
  return gate.run('run');
}

/** A process: an agent, and what its model hears. */
function processOn(countersign: FakeCountersign, turns: readonly (readonly ScriptedCall[])[]) {
  const script = scriptedModel(turns);
  const { tools, resume } = gateOn(countersign);
  const agent = new Agent({ name: 'support', model: script.model, tools: [...tools, lookup] });
  const goOn = async (stored: string) => run(agent, (await resume(agent, stored)).state);
  return {
    script,
    agent,
    resume,
    goOn,
    approved: (stored: string, sticky?: boolean) => approve(agent, stored, sticky),
  };
}

/** Acts like a program that answers the framework's own question. */
async function approve(agent: Agent, stored: string, alwaysApprove = false): Promise<RunState<unknown, Agent>> {
  const state: RunState<unknown, Agent> = await RunState.fromString(agent, stored);
  for (const item of state.getInterruptions()) state.approve(item, { alwaysApprove });
  return state;
}

/** A process in which one agent uses another as a tool. */
function nested(countersign: FakeCountersign) {
  const { agent: inner, script, resume } = processOn(countersign, [[refundCall()]]);
  const outer = scriptedModel([[{ toolCallId: 'outer', toolName: 'delegate', arguments: { input: 'go' } }]]);
  const tools = [inner.asTool({ toolName: 'delegate', toolDescription: 'Delegates' })];
  const agent = new Agent({ name: 'outer', model: outer.model, tools });
  return { script, outer, resume, agent, approved: (stored: string) => approve(agent, stored) };
}

async function paused(turns: readonly (readonly ScriptedCall[])[]) {
  const countersign = createFakeCountersign();
  const first = processOn(countersign, turns);
  const { interruptions, state } = await run(first.agent, 'go');
  expect(interruptions.length).toBeGreaterThan(0);
  expect(ran).toEqual([]);
  return { countersign, stored: state.toString(), ...processOn(countersign, turns) };
}

beforeAll(() => {
  setTracingDisabled(true);
});
afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('a gated tool', () => {
  it('interrupts the run, and another process runs it once after the approval', async () => {
    const { countersign, stored, script, agent, resume, goOn } = await paused([[refundCall(), lookupCall]]);
    expect((await resume(agent, stored)).pending).toMatchObject([{ toolCallId: 'c1', description: 'Refund 50?' }]);
    countersign.approve('c1');
    const { finalOutput } = await goOn(stored);
    expect(finalOutput).toBe('done');
    expect(script.told()).toEqual({ c1: '{"refunded":50}', c2: '{"found":"x"}' });
    expect(ran).toMatchObject([{ amount: 50 }]);
  });

  it('does not run when it is denied, and the model hears the reason', async () => {
    const { countersign, stored, script, goOn } = await paused([[refundCall()]]);
    countersign.deny('c1', { reason: 'not today' });
    await goOn(stored);
    expect(script.told()['c1']).toMatch(/was denied by me and did not run: not today/);
    expect(ran).toEqual([]);
  });

  it('runs with edited arguments, and the model hears which', async () => {
    const { countersign, stored, script, goOn } = await paused([[refundCall()]]);
    countersign.edit('c1', { amount: 7 });
    await goOn(stored);
    expect(ran).toMatchObject([{ amount: 7 }]);
    expect(script.told()['c1']).toMatch(/^\{"refunded":7\}\nAn approver changed.*\nArguments: \{"amount":7\}$/);
  });

  it('does not run when a person answers in its place', async () => {
    const { countersign, stored, script, goOn } = await paused([[refundCall()]]);
    countersign.answer('c1', { refunded: 0 });
    await goOn(stored);
    expect(script.told()['c1']).toMatch(/^\{"refunded":0\}\n.*the tool did not run/);
    expect(ran).toEqual([]);
  });

  it.each<[string, (countersign: FakeCountersign) => void, RegExp]>([
    ['expires', (countersign) => countersign.expire('c1'), /no person answered in time/],
    [
      'is cancelled',
      (countersign) => countersign.cancel('c1', 'the user left'),
      /cancelled before it ran: the user left/,
    ],
  ])('does not run when its approval %s', async (_, end, told) => {
    const { countersign, stored, script, goOn } = await paused([[refundCall()]]);
    end(countersign);
    await goOn(stored);
    expect(script.told()['c1']).toMatch(told);
    expect(ran).toEqual([]);
  });

  it('tells the model the error of the tool, and not to try again', async () => {
    const { countersign, stored, script, goOn } = await paused([[refundCall('c1', 13)]]);
    countersign.approve('c1');
    await goOn(stored);
    expect(script.told()['c1']).toBe('the bank said no');
    expect(countersign.callOf('c1').state).toBe('failed');
  });

  it('runs while another call of the step is pending', async () => {
    const { countersign, stored, script, agent, resume, goOn } = await paused([[refundCall(), refundCall('c3', 60)]]);
    countersign.approve('c1');
    const half = await resume(agent, stored);
    expect(half.pending.map(({ toolCallId }) => toolCallId)).toEqual(['c3']);
    const { interruptions, state } = await run(agent, half.state);
    expect(interruptions).toHaveLength(1);
    expect(ran).toMatchObject([{ amount: 50 }]);
    countersign.deny('c3', { reason: 'too much' });
    await goOn(state.toString());
    expect(ran).toHaveLength(1);
    expect(script.told()).toMatchObject({ c1: '{"refunded":50}', c3: expect.stringContaining('too much') });
  });

  it('waits for people up to the time limit', async () => {
    const { countersign, stored, agent, resume } = await paused([[refundCall()]]);
    expect((await resume(agent, stored, { timeoutMs: 20 })).pending).toHaveLength(1);
    const resumed = resume(agent, stored, { timeoutMs: 60_000 });
    countersign.approve('c1');
    expect((await resumed).pending).toEqual([]);
  });

  it('gets the context and the abort signal of the run', async () => {
    const countersign = createFakeCountersign();
    const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch }, [refund]);
    closers.push(gate.close);
    const script = scriptedModel([[refundCall()]]);
    const { tools, resume } = gate.run('run');
    const agent = new Agent({ name: 'support', model: script.model, tools: [...tools] });
    const { state } = await run(agent, 'go', { context: { tenant: 'acme' } });
    countersign.approve('c1');
    const user = new AbortController();
    await run(agent, (await resume(agent, state.toString())).state, { signal: user.signal });
    user.abort();
    expect(ran).toMatchObject([{ context: { tenant: 'acme' } }]);
    expect(ran[0]?.signal?.aborted).toBe(true);
  });

  it('is streamed like any other', async () => {
    const { countersign, stored, script, agent, resume } = await paused([[refundCall()]]);
    countersign.approve('c1');
    const stream = await run(agent, (await resume(agent, stored)).state, { stream: true });
    const names: string[] = [];
    for await (const event of stream) if (event.type === 'run_item_stream_event') names.push(event.name);
    expect(names).toContain('tool_output');
    expect(script.told()['c1']).toBe('{"refunded":50}');
  });

  it('interrupts the outer run when an agent inside it calls it', async () => {
    const countersign = createFakeCountersign();
    const { interruptions, state } = await run(nested(countersign).agent, 'go');
    expect(interruptions).toMatchObject([{ name: 'refund' }]);
    countersign.approve('c1');
    const { agent, resume, script } = nested(countersign);
    const { finalOutput } = await run(agent, (await resume(agent, state.toString())).state);
    expect(finalOutput).toBe('done');
    expect(script.told()['c1']).toBe('{"refunded":50}');
    expect(ran).toHaveLength(1);
  });
});

describe('an approval that the ledger did not give', () => {
  it.each([false, true])('ends the run before the model is told anything (sticky: %s)', async (sticky) => {
    const { stored, script, agent, approved, resume } = await paused([[refundCall()]]);
    const error: unknown = await run(agent, await approved(stored, sticky)).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ToolCallError);
    expect(error).toMatchObject({
      message: expect.stringMatching(/NotApprovedError: The call c1 did not run: approval apr_.* is pending/),
      error: expect.any(NotApprovedError),
    });
    expect(ran).toEqual([]);
    expect(script.told()).toEqual({});
    expect((await resume(agent, stored)).pending).toHaveLength(1);
  });

  it('runs nothing in an agent that another uses as a tool, and the outer model hears of an error', async () => {
    const countersign = createFakeCountersign();
    const { interruptions, state } = await run(nested(countersign).agent, 'go');
    expect(interruptions).toHaveLength(1);
    const { agent, approved, script, outer } = nested(countersign);
    await run(agent, await approved(state.toString()));
    expect(ran).toEqual([]);
    expect(script.told()).toEqual({});
    expect(outer.told()['outer']).toMatch(/error occurred/);
    expect(countersign.callOf('c1').state).toBe('awaiting_approval');
  });

  it('does not come from a state with other arguments', async () => {
    const { countersign, stored, agent, approved, resume } = await paused([[refundCall()]]);
    const changed = stored.replaceAll('{\\"amount\\":50}', '{\\"amount\\":5000}');
    expect(changed).not.toBe(stored);
    countersign.approve('c1');
    await expect(resume(agent, changed)).rejects.toThrow(/tool-call-mismatch/);
    await run(agent, await approved(changed)).catch(() => undefined);
    expect(ran).toEqual([]);
  });

  it('does not come from a state with a call that the model never made', async () => {
    const { countersign, stored, agent, approved, resume } = await paused([[refundCall()]]);
    const invented = stored.replaceAll('"c1"', '"c9"');
    await expect(resume(agent, invented)).rejects.toThrow(NotApprovedError);
    await expect(run(agent, await approved(invented))).rejects.toThrow(/c9 did not run: it was never requested/);
    expect(() => countersign.callOf('c9')).toThrow();
  });
});

describe('a second run of one call', () => {
  it('does not happen when the same state is resumed twice at once', async () => {
    const turns = [[refundCall()]];
    const { countersign, stored, script, goOn } = await paused(turns);
    countersign.approve('c1');
    const other = processOn(countersign, turns);
    await Promise.all([goOn(stored), other.goOn(stored)]);
    expect(ran).toHaveLength(1);
    expect(script.told()).toEqual(other.script.told());
  });

  it('does not happen after a crash in the tool: the model hears that the outcome is not known', async () => {
    const { countersign, stored, script, goOn } = await paused([[refundCall()]]);
    countersign.approve('c1');
    countersign.loseWorker('c1');
    await goOn(stored);
    expect(ran).toEqual([]);
    expect(script.told()['c1']).toMatch(/its outcome is not known/);
  });
});

describe('without Countersign', () => {
  it('nothing runs, and the error says why', async () => {
    const countersign = createFakeCountersign();
    countersign.setAway(true);
    const { tools } = gateOn(countersign, 1);
    const agent = new Agent({ name: 'support', model: scriptedModel([[refundCall()]]).model, tools: [...tools] });
    await expect(run(agent, 'go')).rejects.toThrow(/ECONNREFUSED/);
    expect(ran).toEqual([]);
  });
});
