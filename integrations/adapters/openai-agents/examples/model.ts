// A model that follows a script, so that the example needs no key. Leave `model` out to use that of your provider.
import { randomUUID } from 'node:crypto';
import { setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, modelResponder, ScriptedModel } from '@openai/agents/testing';

// Traces need a key.
setTracingDisabled(true);
export const model = new ScriptedModel([
  [functionCall('refund', { amount: 50 }, { callId: randomUUID() })],
  modelResponder(({ request }) => {
    const last = request.input.at(-1);
    const output = typeof last === 'object' && last.type === 'function_call_result' ? last.output : '';
    const text = typeof output === 'object' && 'text' in output ? output.text : JSON.stringify(output);
    return [assistantMessage(`The result of the refund: ${text}`)];
  }),
]);
