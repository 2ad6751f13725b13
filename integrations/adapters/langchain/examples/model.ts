// A model that follows a script, so that the example needs no key. In its place put the model of your provider, such as
// `'openai:gpt-5.2'` after `npm install @langchain/openai`, with `OPENAI_API_KEY` in the environment.
import { randomUUID } from 'node:crypto';
import { AIMessage } from '@langchain/core/messages';
import { fakeModel } from '@langchain/core/testing';

const call = { id: randomUUID(), name: 'refund', args: { amount: 50 } };

export const model = fakeModel()
  .respond(new AIMessage({ content: '', tool_calls: [call] }))
  .respond((messages) => new AIMessage(`The result of the refund: ${messages.at(-1)?.text ?? ''}`));
