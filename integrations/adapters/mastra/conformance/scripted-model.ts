// A model that follows a script: it makes the calls of the first turn that the conversation does not have yet; then it says "done".
import type { MastraModelConfig } from '@mastra/core/llm';

type LanguageModelV2 = Extract<
  Exclude<MastraModelConfig, string>,
  { specificationVersion: 'v2'; supportedUrls: unknown }
>;

export interface ScriptedCall {
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: Record<string, unknown>;
}

/** The model, and the last conversation that it saw. */
export interface Script {
  readonly model: LanguageModelV2;
  /** The results that the model was given, by call. */
  readonly told: () => Record<string, string>;
}

type Prompt = Parameters<LanguageModelV2['doGenerate']>[0]['prompt'];
type Part = Extract<
  Extract<Awaited<ReturnType<LanguageModelV2['doGenerate']>>, { content: unknown }>['content'][number],
  { type: 'text' | 'tool-call' }
>;
type Chunk = Awaited<ReturnType<LanguageModelV2['doStream']>>['stream'] extends ReadableStream<infer C> ? C : never;

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

export function scriptedModel(turns: readonly (readonly ScriptedCall[])[]): Script {
  let seen: Prompt = [];
  const next = (prompt: Prompt): { readonly content: Part[]; readonly finishReason: 'stop' | 'tool-calls' } => {
    seen = prompt;
    const parts = prompt.flatMap((message) => (message.role === 'assistant' ? message.content : []));
    const made = new Set(parts.flatMap((part) => (part.type === 'tool-call' ? part.toolCallId : [])));
    const turn = turns.find((calls) => calls.some(({ toolCallId }) => !made.has(toolCallId)));
    if (turn === undefined) return { content: [{ type: 'text', text: 'done' }], finishReason: 'stop' };
    const content = turn.map((call) => ({
      ...call,
      type: 'tool-call' as const,
      input: JSON.stringify(call.arguments),
    }));
    return { content, finishReason: 'tool-calls' };
  };
  return {
    model: {
      specificationVersion: 'v2',
      provider: 'script',
      modelId: 'script',
      supportedUrls: {},
      doGenerate: ({ prompt }) => Promise.resolve({ ...next(prompt), usage, warnings: [] }),
      doStream: ({ prompt }) => {
        const { content, finishReason } = next(prompt);
        const chunks: readonly Chunk[] = [
          { type: 'stream-start', warnings: [] },
          ...content.flatMap(chunksOf),
          { type: 'finish', finishReason, usage },
        ];
        return Promise.resolve({ stream: ReadableStream.from<Chunk>(chunks) });
      },
    },
    told: () =>
      Object.fromEntries(
        seen
          .flatMap((message) => (message.role === 'tool' ? message.content : []))
          .map(({ toolCallId, output: { value } }) => [
            toolCallId,
            typeof value === 'string' ? value : JSON.stringify(value),
          ]),
      ),
  };
}

function chunksOf(part: Part): readonly Chunk[] {
  if (part.type === 'tool-call') return [part];
  const id = 'text';
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: part.text },
    { type: 'text-end', id },
  ];
}
