import { ErrorCode, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Reply } from '../wire.js';
import type { Exchange, OpenRequest } from './exchange.js';
import { roundMethods } from './protocol.js';
import { createQuestions } from './questions.js';
import { takesTasks, type RequestFacts } from './request-facts.js';
import type { RequestRound } from './request-round.js';
import { statelessReply, type ServerFacts } from './stateless-results.js';

type Members = Readonly<Record<string, unknown>>;

/** The requests of stateless clients that the gate has passed on. */
export interface OpenRequests {
  readonly begin: (innerId: string, facts: RequestFacts, exchange: Exchange) => void;
  readonly get: (innerId: unknown) => OpenRequest | undefined;
  readonly all: () => readonly OpenRequest[];
  /** Sends the reply, or keeps it until the next round. */
  readonly finish: (one: OpenRequest, reply: Reply) => void;
  /** The client does not wait any longer. */
  readonly lose: (one: OpenRequest) => void;
  /** The client has not come back. A reply of the server may still come. */
  readonly abandon: (one: OpenRequest) => void;
}

/** @param server returns the facts about the server that each result names. */
export function createOpenRequests(
  server: () => ServerFacts,
  toServer: (message: JSONRPCMessage) => void,
): OpenRequests {
  const open = new Map<unknown, OpenRequest>();
  return {
    begin: (innerId, facts, exchange) => {
      const { progressToken } = objectOf(facts.params['_meta']);
      open.set(innerId, {
        ...{ innerId, facts, exchange, progressToken, ended: undefined },
        questions: createQuestions(toServer, 'while-open'),
        earlyAnswers: objectOf(facts.params['inputResponses']),
        arrived: Promise.withResolvers(),
      });
    },
    get: (innerId) => open.get(innerId),
    all: () => [...open.values()],
    finish: (one, reply) => {
      const { exchange, facts, arrived } = one;
      if (exchange === undefined) {
        one.ended = reply;
        return;
      }
      open.delete(one.innerId);
      exchange.reply(statelessReply(facts.method, withCards(reply, facts), server()));
      void exchange.delivered.then(arrived.resolve);
    },
    lose: (one) => {
      open.delete(one.innerId);
      one.arrived.resolve(false);
    },
    abandon: (one) => {
      if (one.ended !== undefined) open.delete(one.innerId);
      one.arrived.resolve(false);
    },
  };
}

/** Returns how the client of a request waits. */
export function roundOf({ facts: { capabilities, params } }: OpenRequest): RequestRound {
  const { requestState, inputResponses } = params;
  return {
    opensUrls: opensUrls(capabilities),
    state: typeof requestState === 'string' ? requestState : undefined,
    answers: objectOf(inputResponses),
    takesTasks: takesTasks(capabilities),
    capabilities,
  };
}

/** Sends progress to the client of a request that wants it. */
export function tellProgress(one: OpenRequest | undefined, params: Members): void {
  const { exchange, progressToken } = one ?? {};
  if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return;
  exchange?.notify({ jsonrpc: '2.0', method: 'notifications/progress', params: { ...params, progressToken } });
}

function opensUrls({ elicitation }: Members): boolean {
  return 'url' in objectOf(elicitation);
}

const cardCode: number = ErrorCode.UrlElicitationRequired;

/** A server of version 2025-11-25 sends its client to addresses with an error. In this version it is a round without a state. */
function withCards(reply: Reply, { method, capabilities }: RequestFacts): Reply {
  const isCard = 'error' in reply && reply.error.code === cardCode;
  if (!isCard || !roundMethods.includes(method) || !opensUrls(capabilities)) return reply;
  const { elicitations } = objectOf(reply.error.data);
  const cards = (Array.isArray(elicitations) ? elicitations : []).map((card: unknown, index) => {
    const { message, url } = objectOf(card);
    const question = { method: 'elicitation/create', params: { mode: 'url', message, url } };
    return [`server-card-${String(index)}`, question] as const;
  });
  if (cards.length === 0) return reply;
  return { result: { resultType: 'input_required', inputRequests: Object.fromEntries(cards) } };
}
