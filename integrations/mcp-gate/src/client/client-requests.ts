import type { JSONRPCMessage, JSONRPCRequest, RequestId } from '@modelcontextprotocol/sdk/types.js';
import type { ApprovalView } from '@countersign/contracts';
import type { Deliveries } from './deliveries.js';
import type { RequestRound } from '../stateless/request-round.js';
import type { ClientCall } from './client-call.js';
import type { Session } from './session.js';
import { cancelledBy, objectOf, responseOf, type Reply } from '../wire.js';

/** Replies to a request in place of the server. Returns undefined when the request goes to the server. */
export type Handler = (call: ClientCall) => Promise<Reply | undefined>;

/** The gate has ended the connection between the client and the server. */
export class GateEndedError extends Error {
  override readonly name = 'GateEndedError';
}

/** The requests of the client that the gate answers itself. */
export interface ClientRequests {
  readonly answer: (request: JSONRPCRequest, handler: Handler) => void;
  readonly has: (id: RequestId) => boolean;
  /** Cancels the request that a message of the client cancels; returns whether it is one of these. */
  readonly cancel: (message: JSONRPCMessage) => boolean;
  /** Aborts the open requests, and resolves when each has its last reply. */
  readonly end: (reason: Error) => Promise<void>;
}

/** The dependencies of these requests. */
export interface ClientRequestPorts {
  readonly session: Session;
  readonly deliveries: Deliveries;
  readonly toClient: (message: JSONRPCMessage) => void;
  readonly toServer: (message: JSONRPCMessage) => void;
  readonly roundOf: (id: RequestId) => RequestRound | undefined;
  /** Called after the reply that sent the client to a card. */
  readonly watchCard: (approval: ApprovalView) => void;
}

/** The reason of a cancellation by the client, which expects no reply. */
export const byClient = new Error('the client has cancelled the request');

export function createClientRequests(ports: ClientRequestPorts): ClientRequests {
  const { session, deliveries, toClient, toServer, watchCard, roundOf } = ports;
  const open = new Map<RequestId, AbortController>();
  const answering = new Set<Promise<void>>();

  const reply = async (request: JSONRPCRequest, handler: Handler): Promise<void> => {
    const { id, params = {} } = request;
    const cancelled = new AbortController();
    open.set(id, cancelled);
    const { promise: sent, resolve: tellSent } = Promise.withResolvers<boolean>();
    let card: ApprovalView | undefined;
    const given = await handler({
      params,
      signal: cancelled.signal,
      delivered: deliveries.of(id, sent),
      opensUrls: session.opensUrls(),
      round: roundOf(id),
      // The name of the server comes with the reply to `initialize`, which may still be on the way.
      get labels() {
        return session.labels();
      },
      onWaiting: createProgress(params, toClient),
      onCard: (approval) => {
        card = approval;
      },
    });
    // A client that cancelled the request may have a later one under its id, which stays open.
    const isLatest = open.get(id) === cancelled;
    if (isLatest) open.delete(id);
    const isWanted = cancelled.signal.reason !== byClient;
    if (given === undefined && isWanted) {
      toServer(request);
      return;
    }
    tellSent(isWanted);
    if (given !== undefined && isWanted) toClient(responseOf(id, given));
    if (isLatest) session.answered(id);
    if (card !== undefined) watchCard(card);
  };
  return {
    answer: (request, handler) => {
      const done = reply(request, handler).finally(() => answering.delete(done));
      answering.add(done);
    },
    has: (id) => open.has(id),
    cancel: (message) => {
      const id = cancelledBy(message);
      const cancelled = id === undefined ? undefined : open.get(id);
      if (id === undefined || cancelled === undefined) return false;
      cancelled.abort(byClient);
      // The client may use the id again at once: what the server then says under it is a reply to the later request.
      open.delete(id);
      session.answered(id);
      return true;
    },
    end: async (reason) => {
      for (const cancelled of open.values()) cancelled.abort(reason);
      await Promise.all(answering);
    },
  };
}

/** Tells a client that asked for progress that the call still waits. */
function createProgress(
  params: Readonly<Record<string, unknown>>,
  send: (message: JSONRPCMessage) => void,
): (approvalId: string) => void {
  const { progressToken } = objectOf(params['_meta']);
  let ticks = 0;
  return (approvalId) => {
    if (typeof progressToken !== 'string' && typeof progressToken !== 'number') return;
    // Progress must grow, and that of the tool, which begins when a person has approved, may begin with 0.
    const progress = -1 / (ticks += 1);
    const message = `waiting for a person: approval ${approvalId}`;
    send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, message } });
  };
}
