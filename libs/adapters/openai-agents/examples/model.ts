// A model that follows a script, so that the example needs no key. Leave `model` out to use that of your provider.
import { randomUUID } from 'node:crypto';
import { setTracingDisabled } from '@openai/agents';
import { assistantMessage, functionCall, ScriptedModel } from '@openai/agents/testing';

// Traces need a key.
setTracingDisabled(true);
export const model = new ScriptedModel([
  [functionCall('refund', { amount: 50 }, { callId: randomUUID() })],
  [assistantMessage('The refund is dealt with.')],
]);
