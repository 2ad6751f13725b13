// The Messages API of Anthropic: Claude Code.
import { randomUUID } from 'node:crypto';
import { lastOf, objectsIn, textOf, type Answer, type Api } from './api.ts';

export const anthropic: Api = {
  read: (path, body) => {
    if (!path.endsWith('/v1/messages')) return undefined;
    const messages = objectsIn(body['messages']);
    // The agent passes the text of a hook to the model in a text of its own, after the result.
    const newest = lastOf(messages, ({ role }) => role !== 'assistant').flatMap(({ content }) => objectsIn(content));
    const isAfterTool = newest.some(({ type }) => type === 'tool_result');
    return {
      told: isAfterTool ? newest.map(({ content, text }) => textOf(content ?? text)).join('\n') : '',
      tools: objectsIn(body['tools']).map(({ name }) => String(name)),
      isStreamed: body['stream'] === true,
    };
  },
  say: (text) => answer({ type: 'text', text }, { type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
  call: ({ id, name, args }) => {
    const block = { type: 'tool_use', id: `toolu_${id}`, name };
    const delta = { type: 'input_json_delta', partial_json: JSON.stringify(args) };
    return answer({ ...block, input: args }, { ...block, input: {} }, delta, 'tool_use');
  },
};

function answer(block: object, start: object, delta: object, stopReason: string): Answer {
  const usage = { input_tokens: 1, output_tokens: 1 };
  const message = {
    // Claude Code takes two messages of one id for one message.
    id: `msg_${randomUUID()}`,
    type: 'message',
    role: 'assistant',
    model: 'scripted',
    stop_sequence: null,
    usage,
  };
  const events = [
    { type: 'message_start', message: { ...message, content: [], stop_reason: null } },
    { type: 'content_block_start', index: 0, content_block: start },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: stopReason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ];
  return {
    whole: { ...message, content: [block], stop_reason: stopReason },
    events: events.map((data) => ({ event: data.type, data })),
  };
}
