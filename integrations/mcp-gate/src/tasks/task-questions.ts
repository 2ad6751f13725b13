import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import type { Question } from '../stateless/exchange.js';
import { roundMember } from '../stateless/protocol.js';
import { failed } from '../stateless/request-facts.js';
import { canAnswer, questionOf } from '../stateless/rounds.js';
import { isObject, objectOf, responseOf } from '../wire.js';

type Members = Readonly<Record<string, unknown>>;

/** The questions of a server about one run that is a task. The client reads them with the task, and answers with `tasks/update`. */
export interface TaskQuestions {
  /** @param capabilities those of the client. The server gets an error when they do not allow the question. */
  readonly ask: (question: JSONRPCRequest, capabilities: Members) => void;
  /** Returns the questions without an answer, by their keys. */
  readonly open: () => Members;
  /** Takes the answers to open questions; others are ignored. */
  readonly answer: (answers: Members) => void;
  /** The server does not want the answer any more. */
  readonly withdraw: (questionId: RequestId) => void;
  /** The server gets an error in place of each answer. */
  readonly end: () => void;
}

export function createTaskQuestions(toServer: (message: JSONRPCMessage) => void): TaskQuestions {
  const open = new Map<string, Question>();
  /** A key names one question for the life of the task. */
  const used = new Set<string>();

  const keyOf = (params: Members): string => {
    const { key } = objectOf(params[roundMember]);
    const isTheirs = typeof key === 'string' && !used.has(key) && !/^(?:server-|countersign)/i.test(key);
    return isTheirs ? key : `server-${String(used.size + 1)}`;
  };
  const refuse = (id: RequestId, text: string): void => {
    toServer(responseOf(id, failed(ErrorCode.MethodNotFound, text)));
  };
  return {
    ask: ({ id, method, params = {} }, capabilities) => {
      if (!canAnswer(capabilities, method, params)) {
        refuse(id, `The client does not support ${method}`);
        return;
      }
      const key = keyOf(params);
      used.add(key);
      open.set(key, { id, method, params: questionOf(params) });
    },
    open: () => Object.fromEntries([...open].map(([key, { method, params }]) => [key, { method, params }])),
    answer: (answers) => {
      for (const [key, { id }] of open) {
        const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
        if (!isObject(given)) continue;
        open.delete(key);
        toServer(responseOf(id, { result: given }));
      }
    },
    withdraw: (questionId) => {
      for (const [key, { id }] of open) if (id === questionId) open.delete(key);
    },
    end: () => {
      for (const { id } of open.values()) refuse(id, 'the task has ended without an answer');
      open.clear();
    },
  };
}
