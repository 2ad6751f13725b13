import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import {
  ErrorCode,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { isObject, objectOf, responseOf, type Reply } from '../wire.js';
import type { Exchange, OpenRequest, Question } from './exchange.js';
import { roundMember } from './protocol.js';
import { failed, type RequestFacts } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** The questions of a server, which a stateless client answers by making its request again. */
export interface Rounds {
  /** Asks the client of an open request. The server gets an error when the client cannot answer. */
  readonly ask: (open: OpenRequest, question: JSONRPCRequest) => void;
  /**
   * Continues the request to which a state belongs, with the answers. Returns undefined, or the error for a state that is
   * unknown, was used before, or belongs to another request.
   */
  readonly resume: (facts: RequestFacts, exchange: Exchange) => Reply | undefined;
  /** The server does not want the answer any more. */
  readonly withdraw: (open: OpenRequest, questionId: RequestId) => void;
  /** The client has left: the server gets an error in place of each answer. */
  readonly abandon: (open: OpenRequest) => void;
}

/** The dependencies of rounds. */
export interface RoundPorts {
  readonly toServer: (message: JSONRPCMessage) => void;
  /** Sends the reply that came between two rounds. */
  readonly finish: (open: OpenRequest, reply: Reply) => void;
  /** Called when the client has not made its request again in time. */
  readonly lost: (open: OpenRequest) => void;
}

/** The states of these rounds begin with it. */
export const roundPrefix = 'round.';
/** A person may read for long before they answer. The server has a limit of its own. */
const answerMsMax = 3_600_000;

export function createRounds({ toServer, finish, lost }: RoundPorts): Rounds {
  const waiting = new Map<string, { readonly open: OpenRequest; readonly timer: NodeJS.Timeout }>();
  let asked = 0;

  /** The key of the server, unless it looks like one of the gate or is taken. */
  const keyOf = ({ questions }: OpenRequest, params: Members): string => {
    const { key } = objectOf(params[roundMember]);
    const isTheirs = typeof key === 'string' && !questions.has(key) && !/^(?:server-|countersign)/i.test(key);
    return isTheirs ? key : `server-${String((asked += 1))}`;
  };
  const refuse = ({ id }: Pick<Question, 'id'>, text: string): void => {
    toServer(responseOf(id, failed(ErrorCode.MethodNotFound, text)));
  };
  const abandon = (open: OpenRequest): void => {
    for (const question of open.questions.values()) refuse(question, 'the client has left without an answer');
    open.questions.clear();
  };
  const show = (open: OpenRequest): void => {
    const { exchange, questions } = open;
    if (exchange === undefined || questions.size === 0) return;
    const requestState = `${roundPrefix}${randomUUID()}`;
    const timer = setTimeout(() => {
      waiting.delete(requestState);
      abandon(open);
      lost(open);
    }, answerMsMax).unref();
    waiting.set(requestState, { open, timer });
    open.exchange = undefined;
    const inputRequests = Object.fromEntries(
      [...questions].map(([key, { method, params }]) => [key, { method, params }]),
    );
    exchange.reply({ result: { resultType: 'input_required', inputRequests, requestState } });
  };
  return {
    ask: (open, { id, method, params = {} }) => {
      if (!canAnswer(open.facts.capabilities, method, params)) {
        refuse({ id }, `The client does not support ${method}`);
        return;
      }
      const key = keyOf(open, params);
      open.questions.set(key, { id, method, params: questionOf(params) });
      // A client may answer in its first request what a server asked in an earlier one.
      const { [key]: early, ...later } = open.earlyAnswers;
      open.earlyAnswers = later;
      if (early !== undefined) answer(open, { [key]: early }, toServer);
      // Questions that the server asks at once are one round.
      setImmediate(show, open);
    },
    resume: (facts, exchange) => {
      const state = String(facts.params['requestState']);
      const found = waiting.get(state);
      // The attack: the state of one request with the arguments of another.
      if (found === undefined || !isSameRequest(found.open.facts, facts)) {
        return failed(
          ErrorCode.InvalidParams,
          'Invalid params: requestState does not belong to this request. Call again without it',
        );
      }
      const { open, timer } = found;
      waiting.delete(state);
      clearTimeout(timer);
      open.exchange = exchange;
      answer(open, objectOf(facts.params['inputResponses']), toServer);
      if (open.ended === undefined) show(open);
      else finish(open, open.ended);
      return undefined;
    },
    withdraw: (open, questionId) => {
      for (const [key, { id }] of open.questions) if (id === questionId) open.questions.delete(key);
    },
    abandon,
  };
}

/** The client is asked again about a question without an answer. */
function answer({ questions }: OpenRequest, answers: Members, toServer: (message: JSONRPCMessage) => void): void {
  for (const [key, { id }] of questions) {
    const given = Object.hasOwn(answers, key) ? answers[key] : undefined;
    if (!isObject(given)) continue;
    questions.delete(key);
    toServer(responseOf(id, { result: given }));
  }
}

function isSameRequest(before: RequestFacts, now: RequestFacts): boolean {
  return before.method === now.method && isDeepStrictEqual(askedOf(before.params), askedOf(now.params));
}

/** The parameters without those of a round. The members of `_meta` may differ, such as the token of progress. */
function askedOf(params: Members): Members {
  const { _meta: _, inputResponses: __, requestState: ___, ...asked } = params;
  return asked;
}

/** A server MUST NOT ask what the request of the client does not declare. */
export function canAnswer(capabilities: Members, method: string, params: Members): boolean {
  const { elicitation, sampling, roots } = capabilities;
  if (method === 'sampling/createMessage') return isObject(sampling);
  if (method === 'roots/list') return isObject(roots);
  if (method !== 'elicitation/create' || !isObject(elicitation)) return false;
  if (params['mode'] === 'url') return 'url' in elicitation;
  return 'form' in elicitation || Object.keys(elicitation).length === 0;
}

/** The parameters of a question without the members that this version does not have. */
export function questionOf(params: Members): Members {
  const { _meta: _, task: __, elicitationId: ___, [roundMember]: ____, ...known } = params;
  return known;
}
