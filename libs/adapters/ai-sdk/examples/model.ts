// A model that follows a script, so that the examples need no key. Put the model of your provider in its place.
import { simulateStreamingMiddleware, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? {
          content: [{ type: 'text', text: 'The refund is dealt with.' }],
          finishReason: { unified: 'stop', raw: undefined },
          usage,
          warnings: [],
        }
      : {
          content: [
            { type: 'tool-call', toolCallId: `call-${Date.now()}`, toolName: 'refund', input: '{"amount":50}' },
          ],
          finishReason: { unified: 'tool-calls', raw: undefined },
          usage,
          warnings: [],
        },
});

/** The chat route needs a model that streams. */
export const model = wrapLanguageModel({ model: scripted, middleware: simulateStreamingMiddleware() });
