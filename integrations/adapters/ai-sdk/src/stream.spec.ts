import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  generateText,
  isStepCount,
  Output,
  streamText,
  toUIMessageStream,
  type ModelMessage,
  type TextStreamPart,
  type ToolSet,
} from 'ai';
import { z } from 'zod';
import { scriptedModel, type ScriptedModel } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const turns = [
  [
    { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } },
    { toolCallId: 'c2', toolName: 'lookup', arguments: { id: 'x' } },
    { toolCallId: 'c3', toolName: 'refund', arguments: { amount: 60 } },
  ],
];
const user: ModelMessage = { role: 'user', content: 'go' };
const modelTurn = ['text-start', 'text-delta', 'text-end'];

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** A new process of the agent. */
function processOn({ fetch }: FakeCountersign) {
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch }, tools, { refund: true });
  closers.push(gate.close);
  return gate.run('run');
}

type Process = ReturnType<typeof processOn>;

/** The parts of `streamText`, the chunks of its UI stream, and the messages after it, which have been JSON. */
async function streamed({ tools: gated, toolApproval }: Process, { model }: ScriptedModel, messages: ModelMessage[]) {
  const { stream, responseMessages } = streamText({ model, tools: gated, toolApproval, messages });
  const parts: string[] = [];
  const chunks: string[] = [];
  const callOf = new Map<string, string>();
  const noted = stream.pipeThrough(
    new TransformStream<TextStreamPart<ToolSet>, TextStreamPart<ToolSet>>({
      transform: (part, controller) => {
        if (part.type === 'tool-approval-request') callOf.set(part.approvalId, part.toolCall.toolCallId);
        parts.push(named(part.type, 'toolCall' in part ? part.toolCall.toolCallId : toolCallIdOf(part)));
        controller.enqueue(part);
      },
    }),
  );
  for await (const chunk of toUIMessageStream({ stream: noted })) chunks.push(named(chunk.type, toolCallIdOf(chunk)));
  const after = JSON.parse(JSON.stringify([...messages, ...(await responseMessages)])) as ModelMessage[];
  return { parts, chunks, messages: after };
}

const toolCallIdOf = (part: object): unknown => ('toolCallId' in part ? part.toolCallId : undefined);
const named = (type: string, toolCallId: unknown): string =>
  typeof toolCallId === 'string' ? `${type} ${toolCallId}` : type;

describe('a stream that pauses', () => {
  it('asks about each gated call before it finishes, and runs the free call', async () => {
    const { parts, chunks } = await streamed(processOn(createFakeCountersign()), scriptedModel(turns), [user]);
    expect(parts).toEqual([
      'start',
      'start-step',
      'tool-call c1',
      'tool-approval-request c1',
      'tool-call c2',
      'tool-call c3',
      'tool-approval-request c3',
      'tool-result c2',
      'finish-step',
      'finish',
    ]);
    expect(chunks).toEqual([
      'start',
      'start-step',
      'tool-input-available c1',
      'tool-approval-request c1',
      'tool-input-available c2',
      'tool-input-available c3',
      'tool-approval-request c3',
      'tool-output-available c2',
      'finish-step',
      'finish',
    ]);
    expect(ran).toEqual([]);
  });
});

describe('a stream that resumes from JSON in another process', () => {
  it.each<[string, (countersign: FakeCountersign) => void, readonly string[], readonly string[], readonly number[]]>([
    [
      'two approvals',
      ({ approve }) => (approve('c3'), approve('c1')),
      ['tool-result c1', 'tool-result c3'],
      ['tool-output-available c1', 'tool-output-available c3'],
      [50, 60],
    ],
    [
      'two denials',
      ({ deny }) => (deny('c3'), deny('c1')),
      ['tool-output-denied c1', 'tool-output-denied c3'],
      ['tool-output-denied c1', 'tool-output-denied c3'],
      [],
    ],
    [
      'an approval and a denial',
      ({ approve, deny }) => (approve('c1'), deny('c3')),
      ['tool-output-denied c3', 'tool-result c1'],
      ['tool-output-denied c3', 'tool-output-available c1'],
      [50],
    ],
  ])('tells the outcome of each call once, before the step of the model, after %s', async (...example) => {
    const [, decide, results, outputs, amounts] = example;
    const countersign = createFakeCountersign();
    const { messages: paused } = await streamed(processOn(countersign), scriptedModel(turns), [user]);
    decide(countersign);
    const next = processOn(countersign);
    const { messages, pending } = await next.resume(paused);
    expect(pending).toEqual([]);
    const { parts, chunks } = await streamed(next, scriptedModel(turns), messages);
    expect(parts).toEqual(['start', ...results, 'start-step', ...modelTurn, 'finish-step', 'finish']);
    expect(chunks).toEqual(['start', ...outputs, 'start-step', ...modelTurn, 'finish-step', 'finish']);
    expect(ran).toEqual(amounts);
  });

  it('tells the model nothing new and runs nothing when the finished conversation is sent again', async () => {
    const countersign = createFakeCountersign();
    const first = processOn(countersign);
    const script = scriptedModel(turns);
    const { messages: paused } = await streamed(first, script, [user]);
    countersign.approve('c1');
    countersign.deny('c3');
    const ended = await streamed(first, script, (await first.resume(paused)).messages);
    const told = script.told();
    const next = processOn(countersign);
    const again = scriptedModel(turns);
    const { messages } = await next.resume([...ended.messages, { role: 'user', content: 'and now?' }]);
    const { parts } = await streamed(next, again, messages);
    expect(parts).toEqual(['start', 'start-step', ...modelTurn, 'finish-step', 'finish']);
    expect(again.told()).toEqual(told);
    expect(ran).toEqual([50]);
  });
});

describe('an output with a schema', () => {
  it('is parsed after the pause', async () => {
    const countersign = createFakeCountersign();
    const { model } = scriptedModel(turns, '{"total":50}');
    const output = Output.object({ schema: z.strictObject({ total: z.int() }) });
    const generate = async ({ tools: gated, toolApproval }: Process, messages: ModelMessage[]) =>
      generateText({ model, tools: gated, toolApproval, messages, output, stopWhen: isStepCount(3) });
    const paused = await generate(processOn(countersign), [user]);
    expect(() => paused.output).toThrow(/No output/);
    countersign.approve('c1');
    countersign.deny('c3');
    const next = processOn(countersign);
    const { messages } = await next.resume([user, ...paused.responseMessages]);
    expect((await generate(next, messages)).output).toEqual({ total: 50 });
    const stream = streamText({ model, tools: next.tools, toolApproval: next.toolApproval, messages, output });
    expect(await stream.output).toEqual({ total: 50 });
    expect(ran).toEqual([50]);
  });
});
