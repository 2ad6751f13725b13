// The schema of a tool changes, by a deploy, while a run waits, or after its tool has run and the process has crashed.
import { randomUUID } from 'node:crypto';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { Agent } from '@mastra/core/agent';
import { Mastra } from '@mastra/core/mastra';
import { InMemoryStore } from '@mastra/core/storage';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const ran: unknown[] = [];
const closers: (() => Promise<void>)[] = [];
const log = { warn: () => undefined, error: () => undefined };
const before = z.object({ a: z.number() });

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

type Arguments = Record<string, unknown>;

function processOn({ fetch }: FakeCountersign, storage: InMemoryStore, inputSchema: z.ZodObject, args: Arguments) {
  const execute = (input: unknown) => {
    ran.push(input);
    return 'paid';
  };
  const pay = gatedTool({ id: 'pay', description: 'Pays', inputSchema, execute });
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch, log }, [pay]);
  closers.push(gate.close);
  const script = scriptedModel([[{ toolCallId: 'c1', toolName: 'pay', arguments: args }]]);
  const { tools } = gate.run('run');
  const inner = new Agent({ id: 'i', name: 'i', instructions: 'You pay.', model: script.model, tools });
  const agent = new Mastra({ agents: { inner }, storage, logger: false }).getAgent('inner');
  return { gate, script, agent };
}

interface Asked {
  readonly args?: Arguments;
  readonly schema?: z.ZodObject;
}

async function suspended(after: z.ZodObject, { args = { a: 1 }, schema = before }: Asked = {}) {
  const countersign = createFakeCountersign();
  const storage = new InMemoryStore();
  const run = { runId: randomUUID() };
  const first = processOn(countersign, storage, schema, args);
  expect((await first.agent.generate('go', run)).finishReason).toBe('suspended');
  const { agent, script } = processOn(countersign, storage, after, args);
  const resume = () => agent.resumeGenerate({}, run);
  return { countersign, first, script, resume };
}

describe.each([
  ['a default is added', z.object({ a: z.number(), b: z.number().default(7) })],
  ['a required member is added', z.object({ a: z.number(), b: z.number() })],
  ['a type changes', z.object({ a: z.string() })],
] as const)('when %s', (_, after) => {
  it('the model gets the result of the call that has run', async () => {
    const { countersign, first, script, resume } = await suspended(after);
    countersign.approve('c1');
    await first.gate.worker.call({ runId: 'run', toolCallId: 'c1', toolName: 'pay', arguments: { a: 1 } });
    await resume();
    expect(script.told()).toEqual({ c1: 'paid' });
    expect(ran).toEqual([{ a: 1 }]);
  });

  it('a pending call waits on, and fails after its approval', async () => {
    const { countersign, script, resume } = await suspended(after);
    expect((await resume()).finishReason).toBe('suspended');
    countersign.approve('c1');
    await resume();
    expect(script.told()['c1']).toMatch('The input schema of pay is not the one that was approved');
    expect(countersign.callOf('c1').error).toMatchObject({ code: 'tool-schema-changed' });
    expect(ran).toEqual([]);
  });

  it('the model hears of the denial', async () => {
    const { countersign, script, resume } = await suspended(after);
    countersign.deny('c1', { reason: 'not today' });
    await resume();
    expect(script.told()['c1']).toMatch('not today');
  });
});

describe('arguments that the framework repairs', () => {
  const optional = z.object({ a: z.number().optional() });
  const list = z.object({ a: z.array(z.string()) });
  it.each([
    [optional, { a: null }, {}],
    [list, { a: '["x"]' }, { a: ['x'] }],
  ] as const)('are repaired on a resume as well', async (schema, args, repaired) => {
    const { countersign, script, resume } = await suspended(schema, { args, schema });
    expect(countersign.callOf('c1').arguments).toEqual(repaired);
    expect((await resume()).finishReason).toBe('suspended');
    countersign.approve('c1');
    await resume();
    expect(script.told()).toEqual({ c1: 'paid' });
    expect(ran).toEqual([repaired]);
  });

  it('are denied on a resume', async () => {
    const { countersign, script, resume } = await suspended(optional, { args: { a: null }, schema: optional });
    countersign.deny('c1', { reason: 'not today' });
    await resume();
    expect(script.told()['c1']).toMatch('not today');
  });

  it('are found again although the schema has changed', async () => {
    const after = z.object({ a: z.number().optional(), b: z.number() });
    const { countersign, first, script, resume } = await suspended(after, { args: { a: null }, schema: optional });
    countersign.approve('c1');
    await first.gate.worker.call({ runId: 'run', toolCallId: 'c1', toolName: 'pay', arguments: {} });
    await resume();
    expect(script.told()).toEqual({ c1: 'paid' });
  });
});
