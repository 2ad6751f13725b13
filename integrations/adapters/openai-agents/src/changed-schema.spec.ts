// The schema of a tool changes, by a deploy, while a run waits, or after its tool has run and the process has crashed.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: unknown[] = [];
const closers: (() => Promise<void>)[] = [];
const before = z.object({ a: z.number() });

beforeAll(() => {
  setTracingDisabled(true);
});
afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

function processOn({ fetch }: FakeCountersign, parameters: z.ZodObject) {
  const execute = (input: unknown) => {
    ran.push(input);
    return 'paid';
  };
  const pay = gatedTool({ name: 'pay', description: 'Pays', parameters, execute });
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch }, [pay]);
  closers.push(gate.close);
  const { tools, resume } = gate.run('run');
  const script = scriptedModel([[{ toolCallId: 'c1', toolName: 'pay', arguments: { a: 1 } }]]);
  const agent = new Agent({ name: 'support', model: script.model, tools: [...tools] });
  const goOn = async (stored: string) => run(agent, (await resume(agent, stored)).state);
  return { script, agent, resume, goOn };
}

async function paused(after: z.ZodObject) {
  const countersign = createFakeCountersign();
  const first = processOn(countersign, before);
  const stored = (await run(first.agent, 'go')).state.toString();
  return { countersign, first, stored, second: processOn(countersign, after) };
}

describe.each([
  ['a default is added', z.object({ a: z.number(), b: z.number().default(7) })],
  ['a required member is added', z.object({ a: z.number(), b: z.number() })],
  ['a type changes', z.object({ a: z.string() })],
] as const)('when %s', (_, after) => {
  it('the model gets the result of the call that has run', async () => {
    const { countersign, first, second, stored } = await paused(after);
    countersign.approve('c1');
    await first.goOn(stored);
    await second.goOn(stored);
    expect(second.script.told()).toEqual({ c1: 'paid' });
    expect(ran).toEqual([{ a: 1 }]);
  });

  it('a pending call waits on, and fails after its approval', async () => {
    const { countersign, second, stored } = await paused(after);
    expect((await second.resume(second.agent, stored)).pending).toMatchObject([{ toolCallId: 'c1' }]);
    expect((await second.goOn(stored)).interruptions).toHaveLength(1);
    countersign.approve('c1');
    await second.goOn(stored);
    expect(second.script.told()['c1']).toMatch('The input schema of pay is not the one that was approved');
    expect(countersign.callOf('c1').error).toMatchObject({ code: 'tool-schema-changed' });
    expect(ran).toEqual([]);
  });

  it('the model hears of the denial', async () => {
    const { countersign, second, stored } = await paused(after);
    countersign.deny('c1', { reason: 'not today' });
    await second.goOn(stored);
    expect(second.script.told()['c1']).toMatch('not today');
  });
});
