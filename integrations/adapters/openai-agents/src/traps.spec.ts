// Behaviour of the framework that would run a tool without the ledger, or would lose a call.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { Agent, run, RunState, setTracingDisabled, type RunToolApprovalItem } from '@openai/agents';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];
/** The tool needs no approval up to this amount. */
let limit = 0;

const refundNamed = (name: string) =>
  gatedTool({
    name,
    description: 'Refunds an amount',
    parameters: z.strictObject({ amount: z.int() }),
    needsApproval: (_runContext, { amount }) => amount > limit,
    execute: ({ amount }) => {
      ran.push(amount);
      return { refunded: amount };
    },
  });

beforeAll(() => {
  setTracingDisabled(true);
});
afterEach(async () => {
  ran.length = 0;
  limit = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** The model makes these calls, one a turn. */
function conversation(...toolCallIds: readonly string[]) {
  const ids = toolCallIds.length === 0 ? ['c1'] : toolCallIds;
  const countersign = createFakeCountersign();
  const process = ({ toolName = 'refund', agentName = 'support' } = {}) => {
    const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
    const gate = gateTools(options, [refundNamed(toolName)]);
    closers.push(gate.close);
    const { tools, resume } = gate.run('run');
    const script = scriptedModel(
      ids.map((toolCallId) => [{ toolCallId, toolName: 'refund', arguments: { amount: 50 } }]),
    );
    return { resume, script, agent: new Agent({ name: agentName, model: script.model, tools: [...tools] }) };
  };
  const begin = async () => (await run(process().agent, 'go')).state.toString();
  return { countersign, process, begin };
}

describe('a stored state', () => {
  it('stays interrupted when the tool no longer needs an approval', async () => {
    const { process, begin } = conversation();
    const stored = await begin();
    limit = 100;
    const { agent, resume } = process();
    const { interruptions } = await run(agent, (await resume(agent, stored)).state);
    expect(interruptions).toHaveLength(1);
    const { agent: other } = process();
    await run(other, await RunState.fromString(other, stored)).catch(() => undefined);
    expect(ran).toEqual([]);
  });

  it('accepts a new message of the user while the call waits, and the call stays open until people decide', async () => {
    const { countersign, process, begin } = conversation();
    const { agent, resume } = process();
    const { state } = await resume(agent, await begin());
    state.addInput('Is it done?');
    const { interruptions, state: later } = await run(agent, state);
    expect(interruptions).toHaveLength(1);
    countersign.approve('c1');
    const next = process();
    const { finalOutput } = await run(next.agent, (await next.resume(next.agent, later.toString())).state);
    expect(finalOutput).toBe('done');
    expect(next.script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });

  it('of a tool that was renamed runs nothing', async () => {
    const { countersign, process, begin } = conversation();
    const stored = await begin();
    countersign.approve('c1');
    const { agent, resume } = process({ toolName: 'reimburse' });
    await expect(resume(agent, stored).then(({ state }) => run(agent, state))).rejects.toThrow(/refund/);
    expect(ran).toEqual([]);
  });

  it('of an agent that was renamed runs nothing, and goes on under the old name', async () => {
    const { countersign, process, begin } = conversation();
    const stored = await begin();
    countersign.approve('c1');
    const { agent, resume } = process({ agentName: 'help desk' });
    await expect(resume(agent, stored)).rejects.toThrow(/Agent support not found/);
    expect(ran).toEqual([]);
    const old = process();
    await run(old.agent, (await old.resume(old.agent, stored)).state);
    expect(ran).toEqual([50]);
  });

  it('runs the arguments that were approved, also when the program changes them in the interruption', async () => {
    const { countersign, process, begin } = conversation();
    const stored = await begin();
    countersign.approve('c1');
    const { agent, resume } = process();
    const { state } = await resume(agent, stored);
    for (const { rawItem } of state.getInterruptions()) {
      if (rawItem.type === 'function_call') rawItem.arguments = '{"amount":5000}';
    }
    await run(agent, state);
    expect(ran).toEqual([50]);
  });
});

describe('a sticky answer of the program', () => {
  const answered = async (
    { process, begin }: ReturnType<typeof conversation>,
    answer: (state: RunState<unknown, Agent>, item: RunToolApprovalItem) => void,
  ) => {
    const stored = await begin();
    const next = process();
    const state: RunState<unknown, Agent> = await RunState.fromString(next.agent, stored);
    for (const item of state.getInterruptions()) answer(state, item);
    return { ...next, state };
  };

  it('approves no later call: people are asked about it, and it does not run', async () => {
    const world = conversation('c1', 'c2');
    const { agent, state, script } = await answered(world, (one, item) => one.approve(item, { alwaysApprove: true }));
    world.countersign.approve('c1');
    await expect(run(agent, state)).rejects.toThrow(/c2 did not run: approval apr_.* is pending/);
    expect(ran).toEqual([50]);
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(world.countersign.callOf('c2').state).toBe('awaiting_approval');
  });

  it('rejects every later call of the tool without a request, and leaves the open question to people', async () => {
    const world = conversation('c1', 'c2');
    const { agent, state, script } = await answered(world, (one, item) => one.reject(item, { alwaysReject: true }));
    const { finalOutput } = await run(agent, state);
    expect(finalOutput).toBe('done');
    expect(ran).toEqual([]);
    expect(Object.keys(script.told())).toEqual(['c1', 'c2']);
    expect(world.countersign.callOf('c1').state).toBe('awaiting_approval');
    expect(() => world.countersign.callOf('c2')).toThrow(/no call c2/);
  });

  it('rejects no call that people approved, when the state is resumed', async () => {
    const world = conversation('c1', 'c2');
    const { agent, state, script, resume } = await answered(world, (one, item) =>
      one.reject(item, { alwaysReject: true }),
    );
    world.countersign.approve('c1');
    await run(agent, (await resume(agent, state.toString())).state);
    expect(ran).toEqual([50]);
    expect(script.told()['c1']).toBe('{"refunded":50}');
  });
});

interface Stored {
  $schemaVersion: string;
  currentResponseGeneratedItemOwnership?: object;
  readonly generatedItems: object[];
  readonly lastProcessedResponse: { readonly functions: object[] };
}

/** The same call under the id c9, for 5 in place of 50, which needs no approval. */
const invented = <T>(value: T): T =>
  JSON.parse(JSON.stringify(value).replaceAll('c1', 'c9').replaceAll('50', '5')) as T;

describe('a call that a client puts into a stored state', () => {
  it('does not run, also when it is not among the interruptions', async () => {
    limit = 10;
    const { countersign, process, begin } = conversation();
    const stored = JSON.parse(await begin()) as Stored;
    const { agent, resume } = process();
    // The framework does not compare the items and the interruptions of an older state.
    const { currentResponseGeneratedItemOwnership: _, ...forged } = { ...stored, $schemaVersion: '1.10' };
    forged.generatedItems.push(...invented(forged.generatedItems));
    forged.lastProcessedResponse.functions.push(...invented(forged.lastProcessedResponse.functions));
    const goOn = async () => run(agent, (await resume(agent, JSON.stringify(forged))).state);
    await expect(goOn()).rejects.toThrow(/c9 did not run: it was never requested/);
    expect(() => countersign.callOf('c9')).toThrow();
    expect(ran).toEqual([]);
  });
});
