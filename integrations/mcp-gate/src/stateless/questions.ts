import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, responseOf } from '../wire.js';
import { roundMember } from './protocol.js';
import { failed } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** The questions of a server about one call of a stateless client, which answers them in a round or with `tasks/update`. */
export interface Questions {
  /**
   * Returns the key of the question.
   *
   * @param capabilities those of the client. When they do not allow the question, the server gets an error, and there is no
   *   key.
   */
  readonly ask: (question: JSONRPCRequest, capabilities: Members) => string | undefined;
  /** Returns the questions without an answer, by their keys. */
  readonly open: () => Members;
  /** Takes the answers to open questions; others are ignored. */
  readonly answer: (answers: Members) => void;
  /** The server does not want the answer any more. */
  readonly withdraw: (questionId: RequestId) => void;
  /** The server gets an error in place of each answer. */
  readonly end: (why: string) => void;
}

/** @param keys `once`: a key names one question for ever. `while-open`: until it is answered. */
export function createQuestions(toServer: (message: JSONRPCMessage) => void, keys: 'once' | 'while-open'): Questions {
  const open = new Map<string, { readonly id: RequestId; readonly method: string; readonly params: Members }>();
  const used = new Set<string>();
  let count = 0;

  /** The key of the server, unless it looks like one of the gate or is taken. */
  const keyOf = (params: Members): string => {
    const { key } = objectOf(params[roundMember]);
    const isTheirs = typeof key === 'string' && !used.has(key) && !/^(?:server-|countersign)/i.test(key);
    return isTheirs ? key : `server-${String((count += 1))}`;
  };
  const close = (key: string): void => {
    open.delete(key);
    if (keys === 'while-open') used.delete(key);
  };
  const refuse = (id: RequestId, text: string): void => {
    toServer(responseOf(id, failed(ErrorCode.MethodNotFound, text)));
  };
  return {
    ask: ({ id, method, params = {} }, capabilities) => {
      if (!canAnswer(capabilities, method, params)) {
        refuse(id, `The client does not support ${method}`);
        return undefined;
      }
      const key = keyOf(params);
      used.add(key);
      open.set(key, { id, method, params: known(params) });
      return key;
    },
    open: () => Object.fromEntries([...open].map(([key, { method, params }]) => [key, { method, params }])),
    answer: (answers) => {
      for (const [key, { id }] of open) {
        const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
        if (!isObject(given)) continue;
        close(key);
        toServer(responseOf(id, { result: given }));
      }
    },
    withdraw: (questionId) => {
      for (const [key, { id }] of open) if (id === questionId) close(key);
    },
    end: (why) => {
      for (const { id } of open.values()) refuse(id, why);
      for (const key of open.keys()) close(key);
    },
  };
}

/** A server MUST NOT ask what the request of the client does not declare. */
function canAnswer(capabilities: Members, method: string, params: Members): boolean {
  const { elicitation, sampling, roots } = capabilities;
  if (method === 'sampling/createMessage') return isObject(sampling);
  if (method === 'roots/list') return isObject(roots);
  if (method !== 'elicitation/create' || !isObject(elicitation)) return false;
  if (params['mode'] === 'url') return 'url' in elicitation;
  return 'form' in elicitation || Object.keys(elicitation).length === 0;
}

/** The parameters of a question without the members that this version does not have. */
function known(params: Members): Members {
  const { _meta: _, task: __, elicitationId: ___, [roundMember]: ____, ...rest } = params;
  return rest;
}
