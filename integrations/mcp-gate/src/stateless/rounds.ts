import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { ErrorCode, type JSONRPCRequest, type RequestId } from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Reply } from '../wire.js';
import type { Exchange, OpenRequest } from './exchange.js';
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
  /** Sends the reply that came between two rounds. */
  readonly finish: (open: OpenRequest, reply: Reply) => void;
  /** Called when the client has not made its request again in time. */
  readonly lost: (open: OpenRequest) => void;
  /** Called when the client has left before it had the questions, so it cannot answer them. */
  readonly left: (open: OpenRequest) => void;
}

/** The states of these rounds begin with it. */
export const roundPrefix = 'round.';
/** A person may read for long before they answer. The server has a limit of its own. */
const answerMsMax = 3_600_000;

export function createRounds({ finish, lost, left }: RoundPorts): Rounds {
  const waiting = new Map<string, { readonly open: OpenRequest; readonly timer: NodeJS.Timeout }>();

  const abandon = ({ questions }: OpenRequest): void => {
    questions.end('the client has left without an answer');
  };
  const show = (open: OpenRequest): void => {
    const inputRequests = open.questions.open();
    const { exchange } = open;
    if (exchange === undefined || Object.keys(inputRequests).length === 0) return;
    const requestState = `${roundPrefix}${randomUUID()}`;
    const timer = setTimeout(() => {
      waiting.delete(requestState);
      abandon(open);
      lost(open);
    }, answerMsMax).unref();
    waiting.set(requestState, { open, timer });
    open.exchange = undefined;
    exchange.reply({ result: { resultType: 'input_required', inputRequests, requestState } });
    void exchange.delivered.then((isDelivered) => {
      if (isDelivered || !waiting.delete(requestState)) return;
      clearTimeout(timer);
      left(open);
    });
  };
  return {
    ask: (open, question) => {
      const { questions, facts } = open;
      const key = questions.ask(question, facts.capabilities);
      if (key === undefined) return;
      // A client may answer in its first request what a server asked in an earlier one.
      if (Object.hasOwn(open.earlyAnswers, key)) {
        const { [key]: early, ...later } = open.earlyAnswers;
        open.earlyAnswers = later;
        questions.answer({ [key]: early });
      }
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
      open.questions.answer(objectOf(facts.params['inputResponses']));
      if (open.ended === undefined) show(open);
      else finish(open, open.ended);
      return undefined;
    },
    withdraw: ({ questions }, questionId) => {
      questions.withdraw(questionId);
    },
    abandon,
  };
}

function isSameRequest(before: RequestFacts, now: RequestFacts): boolean {
  return before.method === now.method && isDeepStrictEqual(askedOf(before.params), askedOf(now.params));
}

/** The parameters without those of a round. The members of `_meta` may differ, such as the token of progress. */
function askedOf(params: Members): Members {
  const { _meta: _, inputResponses: __, requestState: ___, ...asked } = params;
  return asked;
}
