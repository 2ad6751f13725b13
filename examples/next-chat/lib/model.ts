import { simulateStreamingMiddleware, wrapLanguageModel, type LanguageModel } from 'ai';
import { MockLanguageModelV4 } from 'ai/test';

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

/** The output of the tool, or why it did not run. */
const textOf = ({ value, reason }: { value?: unknown; reason?: string }): string =>
  typeof value === 'string' ? value : (reason ?? JSON.stringify(value));

/** A model that follows a script, so that the example needs no key. */
const scripted = new MockLanguageModelV4({
  doGenerate: async ({ prompt }) => {
    const last = prompt.at(-1);
    const results = last?.role === 'tool' ? last.content.filter((part) => part.type === 'tool-result') : [];
    if (results.length > 0) {
      const text = `(Scripted model) The result of the refund: ${results.map(({ output }) => textOf(output)).join(' ')}`;
      return {
        content: [{ type: 'text', text }],
        finishReason: { unified: 'stop', raw: undefined },
        usage,
        warnings: [],
      };
    }
    const asked = /\d+/.exec(JSON.stringify(last?.content))?.[0] ?? '50';
    const input = JSON.stringify({ amount: Number(asked) });
    return {
      content: [{ type: 'tool-call', toolCallId: `call-${crypto.randomUUID()}`, toolName: 'refund', input }],
      finishReason: { unified: 'tool-calls', raw: undefined },
      usage,
      warnings: [],
    };
  },
});

/** With a key of the AI Gateway a real model, otherwise the script. */
export const model: LanguageModel = process.env['AI_GATEWAY_API_KEY']
  ? (process.env['MODEL'] ?? 'openai/gpt-5.2')
  : wrapLanguageModel({ model: scripted, middleware: simulateStreamingMiddleware() });
