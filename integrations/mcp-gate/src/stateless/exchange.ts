import type { IncomingHttpHeaders } from 'node:http';
import type { JSONRPCMessage, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { Reply } from '../wire.js';
import type { Questions } from './questions.js';
import type { RequestFacts } from './request-facts.js';

type Members = Readonly<Record<string, unknown>>;

/** One stateless request on its wire, until its reply. */
export interface Exchange {
  /** The client's own id of the request. */
  readonly id: RequestId;
  /** The headers of its HTTP request. */
  readonly headers?: IncomingHttpHeaders;
  /** Sends a notification that belongs to the request. */
  readonly notify: (message: JSONRPCMessage) => void;
  readonly reply: (reply: Reply) => void;
  /** Resolves to whether the client got the reply. */
  readonly delivered: Promise<boolean>;
}

/** A request of a stateless client that the gate has passed on. Between two rounds it has no exchange. */
export interface OpenRequest {
  /** The id under which the gate has passed it on. */
  readonly innerId: string;
  readonly facts: RequestFacts;
  readonly progressToken: unknown;
  exchange: Exchange | undefined;
  readonly questions: Questions;
  /** Answers to questions that the server has not asked yet. */
  earlyAnswers: Members;
  /** The reply that came between two rounds. */
  ended: Reply | undefined;
  /** Resolves to whether the client got the reply. */
  readonly arrived: PromiseWithResolvers<boolean>;
}
