// The states that a user interface shows while a model writes a gated call, while people decide, and while the tool runs.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  isToolUIPart,
  readUIMessageStream,
  streamText,
  tool,
  toUIMessageStream,
  type ModelMessage,
  type TextStreamPart,
  type ToolSet,
  type UIMessageChunk,
} from 'ai';
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const user: ModelMessage = { role: 'user', content: 'go' };
const inputSchema = z.strictObject({ amount: z.int() });
const input = '{"amount":50}';
const turns = [[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]];
// Deprecated for `providerMetadata`, but user interfaces still show it.
const titled = { title: 'Refund an order' };
const refund = tool({
  ...titled,
  inputSchema,
  execute: async function* ({ amount }) {
    yield { state: 'checking' };
    yield { state: 'paying' };
    yield { refunded: amount };
  },
});

afterEach(async () => {
  await Promise.all(closers.splice(0).map((close) => close()));
});

function conversation() {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, { refund }, { refund: true });
  closers.push(gate.close);
  return { countersign, run: gate.run('run') };
}

/** A model that writes the arguments of its call in two pieces. */
function writingModel(): MockLanguageModelV4 {
  const half = Math.floor(input.length / 2);
  const tokens = { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 };
  return new MockLanguageModelV4({
    doStream: () =>
      Promise.resolve({
        stream: convertArrayToReadableStream([
          { type: 'stream-start' as const, warnings: [] },
          { type: 'tool-input-start' as const, id: 'c1', toolName: 'refund' },
          { type: 'tool-input-delta' as const, id: 'c1', delta: input.slice(0, half) },
          { type: 'tool-input-delta' as const, id: 'c1', delta: input.slice(half) },
          { type: 'tool-input-end' as const, id: 'c1' },
          { type: 'tool-call' as const, toolCallId: 'c1', toolName: 'refund', input },
          {
            type: 'finish' as const,
            finishReason: { unified: 'tool-calls' as const, raw: undefined },
            usage: { inputTokens: tokens, outputTokens: { total: 1, text: 1, reasoning: 0 } },
          },
        ]),
      }),
  });
}

/** The chunks about the call, and the part after each change of the message. */
async function shown(stream: ReadableStream<TextStreamPart<ToolSet>>) {
  const chunks: UIMessageChunk[] = [];
  const noted = toUIMessageStream({ stream }).pipeThrough(
    new TransformStream<UIMessageChunk, UIMessageChunk>({
      transform: (chunk, controller) => {
        if ('toolCallId' in chunk) chunks.push(chunk);
        controller.enqueue(chunk);
      },
    }),
  );
  const states: string[] = [];
  const titles = new Set<string | undefined>();
  for await (const { parts } of readUIMessageStream({ stream: noted })) {
    for (const { state, title } of parts.filter(isToolUIPart)) {
      if (states.at(-1) !== state) states.push(state);
      titles.add(title);
    }
  }
  return { chunks, states, titles: [...titles] };
}

describe('a gated call that the model is still writing', () => {
  it('has the states input-streaming, input-available and approval-requested, and keeps its title', async () => {
    const { run } = conversation();
    const { tools, toolApproval } = run;
    const { stream } = streamText({ model: writingModel(), tools, toolApproval, messages: [user] });
    const { chunks, states, titles } = await shown(stream);
    expect(chunks.map(({ type }) => type)).toEqual([
      'tool-input-start',
      'tool-input-delta',
      'tool-input-delta',
      'tool-input-available',
      'tool-approval-request',
    ]);
    expect(states).toEqual(['input-streaming', 'input-available', 'approval-requested']);
    expect(titles).toEqual(['Refund an order']);
  });
});

describe('a gated tool that is a generator', () => {
  const outputs = (chunks: readonly UIMessageChunk[]) =>
    chunks.flatMap((chunk) => (chunk.type === 'tool-output-available' ? [[chunk.output, chunk.preliminary]] : []));

  it('shows its last output only, where the framework alone shows each of them', async () => {
    const { countersign, run } = conversation();
    const { tools, toolApproval } = run;
    const options = { model: scriptedModel(turns).model, tools, toolApproval };
    const paused = await streamText({ ...options, messages: [user] }).responseMessages;
    countersign.approve('c1');
    const { messages } = await run.resume([user, ...paused]);
    const gated = await shown(streamText({ ...options, messages }).stream);
    expect(outputs(gated.chunks)).toEqual([[{ refunded: 50 }, undefined]]);

    const alone = streamText({ model: scriptedModel(turns).model, tools: { refund }, messages: [user] });
    expect(outputs((await shown(alone.stream)).chunks)).toEqual([
      [{ state: 'checking' }, true],
      [{ state: 'paying' }, true],
      [{ refunded: 50 }, true],
      [{ refunded: 50 }, undefined],
    ]);
  });
});
