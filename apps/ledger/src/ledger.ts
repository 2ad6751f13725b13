import type { Refusal } from '@countersign/contracts';
import { isStoreOutage } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { PoisonMessageError } from '@countersign/message-bus';
import type { Message, SubscribeOptions } from '@countersign/message-bus';
import { crashPoint, createLimitedLog } from '@countersign/runtime';
import type { Log, Rate } from '@countersign/runtime';
import { createHandling } from './handling.js';
import type { Try } from './handling.js';
import type { DispatchPorts } from './dispatch-request.js';
import { isRequestType, readEnvelope, typeLabel } from './envelope.js';
import type { Envelope } from './envelope.js';
import type { LedgerMetrics } from './metrics.js';
import { createPrincipalRate, ViewsBehindError } from '@countersign/shell';
import { checkSize, misplaced, parseRequest, toolCallIdsOf } from './parse-request.js';
import { createRefusals } from './refusals.js';
import { createRefuse } from './refuse.js';
import type { RequestKeys } from './request-keys.js';
import type { SignatureWindow } from './request-signature.js';
import { createPlaces } from './places.js';
import type { Unsigned, UnverifiedRequester } from './requester.js';

export interface LedgerOptions extends DispatchPorts {
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  /** Null: no request can be signed. */
  readonly keys: RequestKeys | null;
  readonly unsigned: Unsigned;
  readonly log: Log;
  readonly metrics?: LedgerMetrics;
  readonly window?: SignatureWindow;
  /**
   * How many refusals are recorded per proven principal and code, and of all messages without a proven principal together.
   * Default: a burst of 100, then 10 a second.
   */
  readonly refusalRate?: Rate;
  /** How many requests of one principal are handled per second. Default: 5,000, as over HTTP. */
  readonly requestsPerSecond?: number | undefined;
  /** How often a request for an unknown call is retried before it is refused. Default: 4. */
  readonly notRequestedTries?: number;
}

/** Handles messages of the requests topic. */
export interface Ledger {
  /**
   * Carries out one request, or records its refusal. Resolves once that is in the log, so the message is not needed
   * again. A duplicate adds nothing, also when two processes handle it at the same moment, for example when a partition
   * changes its owner: event ids derive from the message, and each append expects a revision.
   * @throws PoisonMessageError when there is no sender to notify; NotYetRequestedError when the call may still come;
   *   errors for which `isTransientFailure` holds when the event store is unavailable.
   */
  readonly handle: (message: Message, delivery: Try) => Promise<void>;
  /** Messages wait by their proven principal. See {@link SubscribeOptions}. */
  readonly placeOf: NonNullable<SubscribeOptions['placeOf']>;
  /** The rate of each principal. Beyond it messages wait: none is refused or lost. See {@link SubscribeOptions}. */
  readonly takeTurn: NonNullable<SubscribeOptions['takeTurn']>;
}

/**
 * Returns whether `handle` failed for a reason outside the message: the message is delivered again and never parked.
 */
export const isTransientFailure: NonNullable<SubscribeOptions['isTransient']> = (error) =>
  isStoreOutage(error) || error instanceof ViewsBehindError;

/**
 * A ledger over its ports. It consumes nothing by itself: `createLedgerApp` gives it the messages of a bus.
 * @example
 * const ledger = createLedger({ commands, store, openCalls, keys: null, unsigned, clock, ids, log });
 * const app = await createLedgerApp({ ledger, bus, topic: topicNames().requests, log });
 * await app.listen();
 */
export function createLedger(options: LedgerOptions): Ledger {
  const { metrics, clock } = options;
  const log = createLimitedLog(options.log, clock);
  const refuse = createRefuse({ clock, log, metrics, refusals: createRefusals(options), rate: options.refusalRate });
  const refuseStranger = (envelope: Envelope, requester: UnverifiedRequester): Promise<'refused'> => {
    metrics?.unverified();
    return refuse({ envelope, requester, refusal: { code: 'unauthenticated', detail: requester.why } });
  };
  const handling = createHandling({ ...options, refuse, refuseStranger });
  const places = createPlaces(options);

  const judge = async (envelope: Envelope, message: Message, one: Try): Promise<'done' | 'refused'> => {
    const { value } = message;
    checkSize(value);
    const requester = await places.requesterOf(envelope, message);
    const { type } = envelope;
    if (!isRequestType(type)) {
      metrics?.forged(typeLabel(type));
      log.error({ type: typeLabel(type), requestId: envelope.id }, 'a message of a forbidden type was refused');
      return refuse({ envelope, requester, refusal: notForSenders });
    }
    if (requester.status === 'unverified') return refuseStranger(envelope, requester);
    const request = parseRequest(type, value);
    const asked = { envelope, requester, runId: request.body.runId, toolCallIds: toolCallIdsOf(request) };
    const refusal = misplaced(message.key, request);
    if (refusal !== undefined) return refuse({ ...asked, refusal });
    crashPoint(`ledger.request.${envelope.id}`);
    if (requester.status === 'late') return handling.recognise({ ...asked, requester }, request);
    const outcome = await handling.carryOut({ ...asked, requester }, request, one);
    places.ended(envelope, requester);
    return outcome;
  };
  const handle: Ledger['handle'] = async (message, one) => {
    const startedAt = clock.monotonic();
    const ended = (outcome: 'done' | 'refused' | 'poison' | 'failed'): void =>
      metrics?.requestEnded(typeLabel(message.headers['ce_type'] ?? ''), outcome, clock.monotonic() - startedAt);
    try {
      ended(await judge(readEnvelope(message), message, one));
    } catch (error) {
      ended(error instanceof PoisonMessageError ? 'poison' : 'failed');
      throw error;
    }
  };
  return { handle, placeOf: places.of, takeTurn: createPrincipalRate(clock, options.requestsPerSecond) };
}

/** Attack: a producer writes an event that only a person or only the log may write. */
const notForSenders: Refusal = {
  code: 'forbidden',
  detail: 'this topic accepts requests only; responses come through a channel that authenticates the person',
};
