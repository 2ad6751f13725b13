import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, tool, type FlexibleSchema, type ModelMessage } from 'ai';
import { z } from 'zod';
import * as v3 from 'zod/v3';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];

afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

/** The model calls a tool with this schema once. */
async function called(inputSchema: FlexibleSchema<object>, args: object) {
  const countersign = createFakeCountersign();
  const ran: object[] = [];
  const execute = (input: object): string => `ran ${String(ran.push(input))}`;
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, { pay: tool({ inputSchema, execute }) }, { pay: true });
  closers.push(gate.close);
  const run = gate.run('run');
  const script = scriptedModel([[{ toolCallId: 'c1', toolName: 'pay', arguments: args }]]);
  const generate = (messages: ModelMessage[]) =>
    generateText({ model: script.model, ...run, messages, stopWhen: isStepCount(3) });
  const messages: ModelMessage[] = [{ role: 'user', content: 'go' }];
  messages.push(...(await generate(messages)).responseMessages);
  return { countersign, ran, script, goOn: async () => generate((await run.resume(messages)).messages) };
}

describe('a schema of zod 3', () => {
  it('is asked about an edit', async () => {
    const small = v3.object({ amount: v3.number().refine((amount) => amount < 100, 'too much') });
    const { countersign, ran, script, goOn } = await called(small, { amount: 5 });
    countersign.edit('c1', { amount: 5000 });
    await goOn();
    expect(ran).toEqual([]);
    expect(script.told()['c1']).toMatch(/do not match the schema/);
    expect(countersign.callOf('c1').state).toBe('failed');
  });

  it('lets a call run that it accepts, with its defaults', async () => {
    const { countersign, ran, goOn } = await called(v3.object({ to: v3.string().default('me') }), {});
    expect(countersign.callOf('c1').arguments).toEqual({ to: 'me' });
    countersign.approve('c1');
    await goOn();
    expect(ran).toEqual([{ to: 'me' }]);
  });

  it('may not transform', async () => {
    const louder = v3.object({ text: v3.string().transform((text) => `${text}!`) });
    const { countersign, script } = await called(louder, { text: 'a' });
    expect(() => countersign.callOf('c1')).toThrow();
    expect(script.told()['c1']).toMatch(/the schema of the tool transforms/);
  });

  it('is said to transform perhaps when it refuses its own output', async () => {
    const length = v3.object({ text: v3.string().transform((text) => text.length) });
    const { countersign, script } = await called(length, { text: 'a' });
    expect(() => countersign.callOf('c1')).toThrow();
    expect(script.told()['c1']).toMatch(/a schema that transforms cannot stand here/);
  });
});

describe('a schema of zod 4 that refuses its own output', () => {
  it.each([
    ['transform', z.object({ value: z.string().transform((text) => text.length) })],
    ['stringbool', z.object({ value: z.stringbool() })],
    [
      'codec',
      z.object({ value: z.codec(z.string(), z.boolean(), { decode: (text) => text === 'yes', encode: String }) }),
    ],
  ])('is said to transform: %s', async (_, schema) => {
    const { countersign, script } = await called(schema, { value: 'yes' });
    expect(() => countersign.callOf('c1')).toThrow();
    expect(script.told()['c1']).toMatch(/Invalid arguments: the schema of the tool transforms, so people would see/);
  });
});
