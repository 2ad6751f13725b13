// A model that follows a script: the n-th step of a conversation makes the calls of the n-th turn. After the last turn it returns `lastWord`.
import { convertArrayToReadableStream, MockLanguageModelV4 } from 'ai/test';

export interface ScriptedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: unknown;
}

type GenerateOptions = Parameters<MockLanguageModelV4['doGenerate']>[0];
type Prompt = GenerateOptions['prompt'];
type Generated = Awaited<ReturnType<MockLanguageModelV4['doGenerate']>>;
type StreamPart =
  Awaited<ReturnType<MockLanguageModelV4['doStream']>>['stream'] extends ReadableStream<infer P> ? P : never;

const usage: Generated['usage'] = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The model, and the last conversation that it saw. */
export interface ScriptedModel {
  readonly model: MockLanguageModelV4;
  /** The results that the model was given, by call. */
  readonly told: () => Record<string, string>;
  readonly timesCalled: () => number;
}

export function scriptedModel(turns: readonly (readonly ScriptedCall[])[], lastWord = 'done'): ScriptedModel {
  let seen: Prompt = [];
  let times = 0;
  const next = ({ prompt }: GenerateOptions): readonly ScriptedCall[] => {
    seen = prompt;
    times += 1;
    const steps = prompt.filter(
      ({ role, content }) =>
        role === 'assistant' && typeof content !== 'string' && content.some(({ type }) => type === 'tool-call'),
    );
    return turns[steps.length] ?? [];
  };
  const partsOf = (calls: readonly ScriptedCall[]) =>
    calls.map(({ toolCallId, toolName, arguments: args }) => ({
      type: 'tool-call' as const,
      toolCallId,
      toolName,
      input: JSON.stringify(args),
    }));
  const reasonOf = (calls: readonly ScriptedCall[]): Generated['finishReason'] =>
    calls.length > 0 ? { unified: 'tool-calls', raw: undefined } : { unified: 'stop', raw: undefined };
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => {
      const calls = next(options);
      const content = calls.length > 0 ? partsOf(calls) : [{ type: 'text' as const, text: lastWord }];
      return { content, finishReason: reasonOf(calls), usage, warnings: [] };
    },
    doStream: async (options) => {
      const calls = next(options);
      const text: StreamPart[] = [
        { type: 'text-start', id: 't' },
        { type: 'text-delta', id: 't', delta: lastWord },
        { type: 'text-end', id: 't' },
      ];
      const parts: StreamPart[] = [
        { type: 'stream-start', warnings: [] },
        ...(calls.length > 0 ? partsOf(calls) : text),
        { type: 'finish', finishReason: reasonOf(calls), usage },
      ];
      return { stream: convertArrayToReadableStream(parts) };
    },
  });
  return { model, told: () => toldIn(seen), timesCalled: () => times };
}

function toldIn(prompt: Prompt): Record<string, string> {
  const results = prompt.flatMap((message) => (message.role === 'tool' ? message.content : []));
  return Object.fromEntries(
    results.flatMap((part) => (part.type === 'tool-result' ? [[part.toolCallId, textOf(part.output)]] : [])),
  );
}

function textOf(output: { readonly type: string; readonly value?: unknown; readonly reason?: string }): string {
  if (output.type === 'execution-denied') return output.reason ?? 'Tool call execution denied.';
  return typeof output.value === 'string' ? output.value : JSON.stringify(output.value);
}
