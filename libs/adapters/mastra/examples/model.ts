// A model that follows a script, so that the example needs no key. Put the model of your provider in its place.
import type { MastraModelConfig } from '@mastra/core/llm';

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };

export const model: MastraModelConfig = {
  specificationVersion: 'v2',
  provider: 'script',
  modelId: 'script',
  supportedUrls: {},
  doGenerate: async ({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? { content: [{ type: 'text', text: 'The refund is dealt with.' }], finishReason: 'stop', usage, warnings: [] }
      : {
          content: [
            { type: 'tool-call', toolCallId: `call-${Date.now()}`, toolName: 'refund', input: '{"amount":50}' },
          ],
          finishReason: 'tool-calls',
          usage,
          warnings: [],
        },
  doStream: () => Promise.reject(new Error('this model does not stream')),
};
