import { randomUUID } from 'node:crypto';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isReply, objectOf } from '../wire.js';
import { inputMethods, roundMember } from './protocol.js';
import { replyIn } from './stateless-results.js';

type Members = Readonly<Record<string, unknown>>;

/** Whom the gate asks. */
export interface Asking {
  /** The token of the request's progress, by which the gate finds the client. */
  readonly token: unknown;
  readonly isForStateless: boolean;
  /** Aborts when the server does not get the answers any more: the client hears that. */
  readonly signal?: AbortSignal;
}

/** The questions of a stateless server, as requests to the client. */
export interface Inputs {
  /** Asks all at once, and returns the answers by their keys. Rejects when the client cannot answer one of them. */
  readonly ask: (questions: readonly (readonly [string, unknown])[], asking: Asking) => Promise<Members>;
  /** Takes a reply of the client. */
  readonly take: (message: JSONRPCMessage) => void;
}

export function createInputs(toClient: (message: JSONRPCMessage) => void): Inputs {
  const open = new Map<string, PromiseWithResolvers<Members>>();
  const askOne = (key: string, question: unknown, { token, isForStateless, signal }: Asking): Promise<Members> => {
    signal?.throwIfAborted();
    const { method, params } = objectOf(question);
    if (typeof method !== 'string' || !inputMethods.includes(method))
      throw new Error('the MCP server asks something unknown');
    const id = `countersign-${randomUUID()}`;
    const answer = Promise.withResolvers<Members>();
    open.set(id, answer);
    const asked = isForStateless
      ? { ...objectOf(params), [roundMember]: { token, key } }
      : olderForm(method, objectOf(params));
    toClient({ jsonrpc: '2.0', id, method, params: asked });
    const withdraw = (): void => {
      toClient({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } });
      answer.reject(signal?.reason);
    };
    signal?.addEventListener('abort', withdraw);
    return answer.promise.finally(() => {
      signal?.removeEventListener('abort', withdraw);
      open.delete(id);
    });
  };
  return {
    ask: async (questions, asking) => {
      const answers = await Promise.all(
        questions.map(async ([key, question]) => [key, await askOne(key, question, asking)] as const),
      );
      return Object.fromEntries(answers);
    },
    take: (message) => {
      const answer = isReply(message) ? open.get(String(message.id)) : undefined;
      const reply = replyIn(message);
      if (answer === undefined || reply === undefined) return;
      if ('result' in reply) answer.resolve(reply.result);
      else answer.reject(new Error(`the client did not answer the MCP server: ${reply.error.message}`));
    },
  };
}

/** Before this version an address had an id. */
function olderForm(method: string, params: Members): Record<string, unknown> {
  const isCard = method === 'elicitation/create' && params['mode'] === 'url';
  return isCard ? { ...params, elicitationId: randomUUID() } : { ...params };
}
