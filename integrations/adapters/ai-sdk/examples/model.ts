// A model that follows a script, so that the examples need no key. Put the model of your provider in its place.
import { simulateStreamingMiddleware, wrapLanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The output of the tool, or why it did not run. */
const textOf = ({ value, reason }: { value?: unknown; reason?: string }): string =>
  typeof value === 'string' ? value : (reason ?? JSON.stringify(value));

const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === 'tool') {
      const outputs = last.content.flatMap((part) => (part.type === 'tool-result' ? [textOf(part.output)] : []));
      return {
        content: [{ type: 'text', text: `The result of the refund: ${outputs.join(' ')}` }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      };
    }
    return {
      content: [{ type: 'tool-call', toolCallId: `call-${Date.now()}`, toolName: 'refund', input: '{"amount":50}' }],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

/** The chat route needs a model that streams. */
export const model = wrapLanguageModel({ model: scripted, middleware: simulateStreamingMiddleware() });
