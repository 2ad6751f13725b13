// A model that follows a script, so that the example needs no key. Put the model of your provider in its place.
import type { MastraModelConfig } from '@mastra/core/llm';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

/** The output of the tool, or why it did not run. */
const textOf = ({ value }: { value: unknown }): string => (typeof value === 'string' ? value : JSON.stringify(value));

export const model: MastraModelConfig = {
  specificationVersion: 'v2',
  provider: 'script',
  modelId: 'script',
  supportedUrls: {},
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === 'tool') {
      const text = `The result of the refund: ${last.content.map(({ output }) => textOf(output)).join(' ')}`;
      return { content: [{ type: 'text', text }], finishReason: 'stop', usage, warnings: [] };
    }
    return {
      content: [{ type: 'tool-call', toolCallId: `call-${Date.now()}`, toolName: 'refund', input: '{"amount":50}' }],
      finishReason: 'tool-calls',
      usage,
      warnings: [],
    };
  },
  doStream: () => Promise.reject(new Error('this model does not stream')),
};
