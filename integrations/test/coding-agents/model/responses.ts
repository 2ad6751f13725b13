// The Responses API of OpenAI: Codex.
import { randomUUID } from 'node:crypto';
import { lastOf, objectsIn, textOf, type Answer, type Api } from './api.ts';

export const responses: Api = {
  read: (path, body) => {
    if (!path.endsWith('/responses')) return undefined;
    // The agent passes the text of a hook to the model in a message of its own, after the result.
    const newest = lastOf(objectsIn(body['input']), ({ type }) => type !== 'function_call');
    const isAfterTool = newest.some(({ type }) => type === 'function_call_output');
    return {
      told: isAfterTool ? newest.map(({ output, content }) => textOf(output ?? content)).join('\n') : '',
      tools: objectsIn(body['tools']).map(({ name }) => String(name)),
      isStreamed: body['stream'] === true,
    };
  },
  say: (text) =>
    answer({ type: 'message', id: `msg_${randomUUID()}`, role: 'assistant', content: [{ type: 'output_text', text }] }),
  call: ({ id, name, args }) =>
    answer({ type: 'function_call', id: `fc_${id}`, call_id: `call_${id}`, name, arguments: JSON.stringify(args) }),
};

function answer(item: object): Answer {
  const usage = { input_tokens: 1, input_tokens_details: null, output_tokens: 1, output_tokens_details: null };
  const begun = { id: `resp_${randomUUID()}`, object: 'response', status: 'in_progress', output: [] };
  const whole = { ...begun, status: 'completed', output: [item], usage: { ...usage, total_tokens: 2 } };
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: whole },
  ];
  return { whole, events: events.map((data) => ({ event: data.type, data })) };
}
