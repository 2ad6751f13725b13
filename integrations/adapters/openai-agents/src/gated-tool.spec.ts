// A tool that was declared with the framework's `tool`, and is moved to `gatedTool`.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { Agent, run, setTracingDisabled, type RunContext } from '@openai/agents';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool, type GatedToolOptions } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];
const parameters = z.strictObject({ amount: z.int() });
type Options = GatedToolOptions<typeof parameters>;

const existing = {
  name: 'refund',
  description: 'Refunds an amount',
  parameters,
  execute: ({ amount }: { readonly amount: number }) => {
    ran.push(amount);
    return { refunded: amount };
  },
};

/** A process whose model asks for refunds of these amounts, under the ids c0, c1 and so on. */
function world(options: Partial<Options>, ...amounts: readonly number[]) {
  const countersign = createFakeCountersign();
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch, attempts: 1 }, [
    gatedTool({ ...existing, ...options }),
  ]);
  closers.push(gate.close);
  const { tools, resume } = gate.run('run');
  const calls = amounts.map((amount, index) => ({
    toolCallId: `c${String(index)}`,
    toolName: 'refund',
    arguments: { amount },
  }));
  const script = scriptedModel([calls]);
  const agent = new Agent({ name: 'support', model: script.model, tools: [...tools] });
  return { countersign, worker: gate.worker, script, agent, resume };
}

beforeAll(() => {
  setTracingDisabled(true);
});
afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('the predicate of a tool that was moved from the framework', () => {
  it('asks for 5000 and not for 5', async () => {
    const needsApproval = (_runContext: RunContext, { amount }: { amount: number }) => Promise.resolve(amount > 10);
    const { agent, countersign } = world({ needsApproval }, 5000, 5);
    const { interruptions } = await run(agent, 'go');
    expect(interruptions).toMatchObject([{ rawItem: { callId: 'c0' } }]);
    expect(ran).toEqual([5]);
    expect(countersign.callOf('c1').approval).toBeNull();
  });

  it('gets the context of the run and the id of the call, each time it is asked', async () => {
    const asked: unknown[] = [];
    const needsApproval: Options['needsApproval'] = ({ context }, input, callId) => {
      asked.push({ context, input, callId });
      return true;
    };
    const { agent, countersign, resume } = world({ needsApproval }, 50);
    const { state } = await run(agent, 'go', { context: { tenant: 'acme' } });
    countersign.approve('c0');
    const before = asked.length;
    const resumed = await resume(agent, state.toString());
    expect(asked.length).toBeGreaterThan(before);
    await run(agent, resumed.state);
    expect(ran).toEqual([50]);
    for (const one of asked) expect(one).toEqual({ context: { tenant: 'acme' }, input: { amount: 50 }, callId: 'c0' });
  });

  it('may give the reason, and the prompt keeps the input and the context of Countersign', async () => {
    const { agent, countersign } = world(
      {
        needsApproval: () => ({ required: true, reason: 'above the limit' }),
        approvalPrompt: ({ amount }, { toolCallId }) => `Refund ${String(amount)} as ${toolCallId}?`,
      },
      50,
    );
    await run(agent, 'go');
    expect(countersign.callOf('c0').approval).toMatchObject({
      reason: 'above the limit',
      description: 'Refund 50 as c0?',
    });
  });

  it('is not asked outside a run: a person must agree', async () => {
    const { worker } = world({ needsApproval: () => false });
    const call = { toolCallId: 'c0', toolName: 'refund', arguments: { amount: 5 } };
    const { pendingApprovals } = await worker.step({ runId: 'run', toolCalls: [call] });
    expect(pendingApprovals).toMatchObject([{ toolCallId: 'c0' }]);
    expect(ran).toEqual([]);
  });
});

describe('an option of the framework', () => {
  it.each([false, () => false])('switches the tool off: isEnabled %s', async (isEnabled) => {
    const { agent, script } = world({ isEnabled });
    await run(agent, 'go');
    expect(script.model.calls.at(-1)?.request.tools).toEqual([]);
  });

  it('reaches the tool of the framework unchanged', () => {
    const options = {
      deferLoading: true,
      providerData: { tier: 'x' },
      allowedCallers: ['direct'] as const,
      inputGuardrails: [{ name: 'in', run: () => Promise.resolve({ behavior: { type: 'allow' as const } }) }],
      outputGuardrails: [{ name: 'out', run: () => Promise.resolve({ behavior: { type: 'allow' as const } }) }],
      customDataExtractor: () => ({ x: 1 }),
    };
    const [tool] = world(options).agent.tools;
    expect(tool).toMatchObject({
      ...options,
      inputGuardrails: [{ name: 'in' }],
      outputGuardrails: [{ name: 'out' }],
    });
  });

  it('is strict, unless a JSON Schema says otherwise', () => {
    const schema = { type: 'object', properties: { amount: { type: 'integer' } } } as const;
    const loose = gatedTool({ ...existing, parameters: schema, strict: false, execute: () => 1 });
    const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a' }, [loose]);
    closers.push(gate.close);
    expect(gate.run('run').tools).toMatchObject([{ strict: false }]);
    expect(world({}).agent.tools).toMatchObject([{ strict: true }]);
  });

  it.each([
    ['timeoutMs', 100, /`timeoutMs`: use `toolTimeoutMs`/],
    ['timeoutBehavior', 'raise_exception', /use `toolTimeoutMs`/],
    ['timeoutErrorFunction', () => 'late', /use `toolTimeoutMs`/],
    ['errorFunction', null, /the model gets the error of the tool/],
    ['outputSchema', z.object({}), /the output is a text/],
    ['needApproval', true, /tool refund: gatedTool does not take `needApproval`: it is no option of it/],
  ])('that cannot be kept is a TypeError: %s', (member, value, message) => {
    const options = { ...existing, [member]: value };
    expect(() => gatedTool(options)).toThrow(TypeError);
    expect(() => gatedTool(options)).toThrow(message);
  });

  it('that cannot be kept is an error of the types', () => {
    // @ts-expect-error: use toolTimeoutMs
    expect(() => gatedTool({ ...existing, timeoutMs: 100 })).toThrow(TypeError);
    // @ts-expect-error: there is no such option
    expect(() => gatedTool({ ...existing, needApproval: true })).toThrow(TypeError);
  });
});

describe('the name of a tool', () => {
  it('is a TypeError when the framework would change it: `resume` would not know the interruption', () => {
    expect(() => gatedTool({ ...existing, name: 'refund-order' })).toThrow(
      new TypeError('tool refund-order: name it refund_order, as the framework would call it'),
    );
  });
});

describe('an input guardrail', () => {
  it('can refuse an approved call, which stays approved in the ledger', async () => {
    const guardrail = {
      name: 'no refunds',
      run: () => Promise.resolve({ behavior: { type: 'rejectContent' as const, message: 'not here' } }),
    };
    const { agent, countersign, resume, script } = world({ inputGuardrails: [guardrail] }, 50);
    const { state } = await run(agent, 'go');
    countersign.approve('c0');
    await run(agent, (await resume(agent, state.toString())).state);
    expect(script.told()['c0']).toBe('not here');
    expect(countersign.callOf('c0').state).toBe('approved');
    expect(ran).toEqual([]);
  });
});

describe('a Countersign that goes away just before a call runs', () => {
  it('ends the run, and the model is told nothing', async () => {
    let goAway = (): void => undefined;
    const guardrail = {
      name: 'last step before the tool',
      run: () => {
        goAway();
        return Promise.resolve({ behavior: { type: 'allow' as const } });
      },
    };
    const { agent, countersign, script } = world({ needsApproval: false, inputGuardrails: [guardrail] }, 50);
    goAway = () => {
      countersign.setAway(true);
    };
    await expect(run(agent, 'go')).rejects.toThrow(/ECONNREFUSED/);
    expect(script.told()).toEqual({});
    expect(ran).toEqual([]);
  });
});
