import { ErrorCode, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { cancelledBy, objectOf, responseOf } from '../wire.js';
import type { OpenRequest } from './exchange.js';
import type { LogLevels } from './log-levels.js';
import { tellProgress, type OpenRequests } from './open-requests.js';
import { roundMember, roundMethods } from './protocol.js';
import { failed } from './request-facts.js';
import type { Rounds } from './rounds.js';
import type { Subscriptions } from './subscriptions.js';
import type { ToolHeaders } from './tool-headers.js';

/** What a server says to its stateless clients without being asked. */
export interface ServerWords {
  readonly ask: (question: JSONRPCRequest) => void;
  readonly tell: (notification: JSONRPCMessage) => void;
}

/** The dependencies of these messages. */
export interface ServerWordsPorts {
  readonly toServer: (message: JSONRPCMessage) => void;
  /** All requests are of one program, so a question of the server belongs to the latest of them. */
  readonly isOneClient: boolean;
  readonly open: OpenRequests;
  readonly rounds: Rounds;
  readonly subscriptions: Subscriptions;
  readonly toolHeaders: ToolHeaders;
  readonly levels: LogLevels;
}

export function createServerWords(ports: ServerWordsPorts): ServerWords {
  const { toServer, isOneClient, open, rounds, subscriptions, toolHeaders, levels } = ports;

  /** The request to which a message of the server belongs. */
  const ownerOf = (token: unknown, candidates: readonly OpenRequest[]): OpenRequest | undefined => {
    const named = open.get(token);
    // The attack: a question about the call of one program is shown to the user of another.
    return named ?? (isOneClient || candidates.length === 1 ? candidates.at(-1) : undefined);
  };
  return {
    ask: (question) => {
      const { id, method, params = {} } = question;
      const candidates = open.all().filter(({ facts }) => roundMethods.includes(facts.method));
      const owner = ownerOf(objectOf(params[roundMember])['token'], candidates);
      if (method === 'ping') toServer(responseOf(id, { result: {} }));
      else if (owner !== undefined) rounds.ask(owner, question);
      else toServer(responseOf(id, failed(ErrorCode.InternalError, noCarrier)));
    },
    tell: (message) => {
      if (!('method' in message)) return;
      const { method, params = {} } = message;
      const cancelled = cancelledBy(message);
      if (method === 'notifications/tools/list_changed') toolHeaders.forget();
      if (cancelled !== undefined) for (const one of open.all()) rounds.withdraw(one, cancelled);
      else if (method === 'notifications/progress') tellProgress(open.get(params['progressToken']), params);
      else if (method === 'notifications/message') {
        const candidates = open.all().filter(({ facts }) => levels.includes(facts.logLevel, params['level']));
        ownerOf(undefined, candidates)?.exchange?.notify(message);
      } else subscriptions.tell(message);
    },
  };
}

const noCarrier = 'no request of the client can carry the question';
