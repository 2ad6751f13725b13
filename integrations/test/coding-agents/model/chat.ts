// The Chat Completions API of OpenAI: OpenCode and Copilot CLI.
import { randomUUID } from 'node:crypto';
import { lastOf, objectsIn, textOf, type Answer, type Api, type Body } from './api.ts';

export const chat: Api = {
  read: (path, body) => {
    if (!path.endsWith('/chat/completions')) return undefined;
    const results = lastOf(objectsIn(body['messages']), ({ role }) => role !== 'assistant').filter(
      ({ role }) => role === 'tool',
    );
    return {
      told: results.map(({ content }) => textOf(content)).join('\n'),
      tools: objectsIn(body['tools']).map((tool) => String(((tool['function'] ?? {}) as Body)['name'])),
      isStreamed: body['stream'] === true,
    };
  },
  say: (content) => answer({ role: 'assistant', content }, 'stop'),
  call: ({ id, name, args }) => {
    const call = { id: `call_${id}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    return answer({ role: 'assistant', content: null, tool_calls: [{ index: 0, ...call }] }, 'tool_calls');
  },
};

function answer(message: object, finishReason: string): Answer {
  const base = { id: `chat_${randomUUID()}`, created: 1, model: 'scripted' };
  const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
  const chunk = { ...base, object: 'chat.completion.chunk' };
  return {
    whole: {
      ...base,
      object: 'chat.completion',
      choices: [{ index: 0, message, finish_reason: finishReason }],
      usage,
    },
    events: [
      { data: { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] } },
      { data: { ...chunk, choices: [{ index: 0, delta: {}, finish_reason: finishReason }], usage } },
      { data: '[DONE]' },
    ],
  };
}
