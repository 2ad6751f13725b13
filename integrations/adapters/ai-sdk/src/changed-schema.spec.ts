// The schema of a tool changes, by a deploy, while a run waits, or after its tool has run and the process has crashed.
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, tool, type ModelMessage, type UIMessage } from 'ai';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const ran: unknown[] = [];
const closers: (() => Promise<void>)[] = [];
const before = z.object({ a: z.number() });
const start: ModelMessage[] = [{ role: 'user', content: 'go' }];

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

function processOn({ fetch }: FakeCountersign, inputSchema: z.ZodObject) {
  const execute = (input: unknown) => {
    ran.push(input);
    return 'paid';
  };
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch };
  const gate = gateTools(options, { pay: tool({ inputSchema, execute }) }, { pay: true });
  closers.push(gate.close);
  const run = gate.run('run');
  const script = scriptedModel([[{ toolCallId: 'c1', toolName: 'pay', arguments: { a: 1 } }]]);
  const step = async (messages: ModelMessage[]) => {
    const { tools, toolApproval } = run;
    const { responseMessages } = await generateText({ model: script.model, tools, toolApproval, messages });
    return [...messages, ...responseMessages];
  };
  const goOn = async (messages: readonly ModelMessage[]) => step((await run.resume(messages)).messages);
  return { script, step, goOn, ...run };
}

async function paused(after: z.ZodObject) {
  const countersign = createFakeCountersign();
  const first = processOn(countersign, before);
  const stored = JSON.parse(JSON.stringify(await first.step(start))) as ModelMessage[];
  return { countersign, first, stored, second: processOn(countersign, after) };
}

const uiMessages: UIMessage[] = [
  { id: 'u', role: 'user', parts: [{ type: 'text', text: 'go' }] },
  {
    id: 'a',
    role: 'assistant',
    parts: [
      { type: 'tool-pay', toolCallId: 'c1', state: 'approval-requested', input: { a: 1 }, approval: { id: 'x' } },
    ],
  },
];

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

  it('the browser gets the result of the call that has run', async () => {
    const { countersign, first, second, stored } = await paused(after);
    countersign.approve('c1');
    await first.goOn(stored);
    const { messages } = await second.resumeUI(uiMessages);
    expect(messages.at(-1)?.parts).toMatchObject([{ state: 'output-available', output: 'paid' }]);
  });

  it('a pending call waits on, and fails after its approval', async () => {
    const { countersign, second, stored } = await paused(after);
    expect((await second.resume(stored)).pending).toMatchObject([{ toolCallId: 'c1' }]);
    countersign.approve('c1');
    await second.goOn(stored);
    const why = 'The input schema of pay is not the one that was approved';
    expect(second.script.told()['c1']).toMatch(why);
    const { messages } = await second.resumeUI(uiMessages);
    expect(messages.at(-1)?.parts).toMatchObject([{ state: 'output-error', errorText: expect.stringContaining(why) }]);
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
