import type { Refusal } from '@countersign/contracts';
import type { Actor } from '@countersign/commands';
import { EventTooLargeError, isStoreOutage } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { PoisonMessageError } from '@countersign/message-bus';
import type { Delivery, Message, SubscribeOptions } from '@countersign/message-bus';
import { crashPoint, createLimitedLog, createRateLimit, uuidV5 } from '@countersign/runtime';
import type { Log, Rate } from '@countersign/runtime';
import { dispatchRequest } from './dispatch-request.js';
import type { DispatchPorts } from './dispatch-request.js';
import { isRequestType, readEnvelope, typeLabel } from './envelope.js';
import type { Envelope } from './envelope.js';
import type { LedgerMetrics } from './metrics.js';
import { ViewsBehindError } from '@countersign/shell';
import { checkSize, parseRequest, toolCallIdsOf } from './parse-request.js';
import { createRefusals } from './refusals.js';
import type { RequestKeys } from './request-keys.js';
import type { SignatureWindow } from './request-signature.js';
import { findRequester } from './requester.js';
import type { Unsigned } from './requester.js';

export interface LedgerOptions extends DispatchPorts {
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  /** Null: no request can be signed. */
  readonly keys: RequestKeys | null;
  readonly unsigned: Unsigned;
  readonly log: Log;
  readonly metrics?: LedgerMetrics;
  readonly window?: SignatureWindow;
  /** How many refusals are recorded per tenant and code. Default: a burst of 100, then 10 a second. */
  readonly refusalRate?: Rate;
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
  readonly handle: (message: Message, delivery: Pick<Delivery, 'attempt'>) => Promise<void>;
}

/** The call of a request is not recorded: the message may have overtaken the one that requests it. */
export class NotYetRequestedError extends Error {
  override readonly name = 'NotYetRequestedError';
}

/**
 * Returns whether `handle` failed for a reason outside the message: the message is delivered again and never parked.
 */
export const isTransientFailure: NonNullable<SubscribeOptions['isTransient']> = (error) =>
  isStoreOutage(error) || error instanceof ViewsBehindError;

const commandIds = '9b0f8f0a-4c8e-5f4b-8f0d-2a6f5f3b7e11';

/**
 * The command id of a message. The source of a signed message is not included: that header is not signed, and a copy
 * with another source must not be another command.
 */
function commandIdOf({ id, source, type }: Envelope, { tenant, principal }: Actor, isSigned: boolean): string {
  return uuidV5(commandIds, JSON.stringify([tenant, principal, isSigned ? null : source, type, id]));
}

/**
 * A ledger over its ports. It consumes nothing by itself: `createLedgerApp` gives it the messages of a bus.
 * @example
 * const ledger = createLedger({ commands, store, openCalls, keys: null, unsigned, clock, ids, log });
 * const app = await createLedgerApp({ ledger, bus, topic: topicNames().requests, log });
 * await app.listen();
 */
export function createLedger(options: LedgerOptions): Ledger {
  const { metrics, clock, refusalRate = { burst: 100, perSecond: 10 }, notRequestedTries = 4 } = options;
  const log = createLimitedLog(options.log, clock);
  const refusals = createRefusals(options);
  const mayRecord = createRateLimit(refusalRate, clock);

  const refuse = async (refused: Refused): Promise<'refused'> => {
    const { envelope, actor, commandId, refusal, toolCallIds = [], runId = null } = refused;
    const { code } = refusal;
    const fields = { requestId: envelope.id, type: typeLabel(envelope.type), code, tenant: actor.tenant };
    log.warn({ ...fields, principal: actor.principal }, 'a request is refused');
    metrics?.refused(code);
    // Limited per code: a flood of unauthenticated messages must not suppress the answers to honest ones.
    if (!mayRecord(`${actor.tenant}/${code}`)) {
      metrics?.refusalDropped();
      return 'refused';
    }
    const named = { requestId: envelope.id, code, detail: detailOf(refusal), toolCallIds: [...toolCallIds] };
    const retryAfterMs = refusal.extra?.['retryAfterMs'];
    const data = typeof retryAfterMs === 'number' ? { ...named, retryAfterMs } : named;
    await refusals.record({ tenant: actor.tenant, runId, commandId, data });
    return 'refused';
  };
  const judge = async (envelope: Envelope, { value }: Message, attempt: number): Promise<'done' | 'refused'> => {
    checkSize(value);
    const found = await findRequester(envelope, value, options);
    const { actor } = found;
    const commandId = commandIdOf(envelope, actor, found.status === 'signed');
    const { type } = envelope;
    if (!isRequestType(type)) {
      metrics?.forged(typeLabel(type));
      log.error({ type: typeLabel(type), requestId: envelope.id }, 'a message of a forbidden type was refused');
      return refuse({ envelope, actor, commandId, refusal: notForSenders });
    }
    if (found.status === 'unverified') {
      metrics?.unverified();
      const refusal: Refusal = { code: 'unauthenticated', detail: found.why };
      return refuse({ envelope, actor, commandId, refusal });
    }
    const request = parseRequest(type, value);
    crashPoint(`ledger.request.${envelope.id}`);
    const refusal = await dispatchRequest(options, actor, request, commandId).catch(tooLarge);
    if (refusal === undefined) return 'done';
    const named = { runId: request.body.runId, toolCallIds: toolCallIdsOf(request) };
    if (refusal.code !== 'not-found') return refuse({ envelope, actor, commandId, refusal, ...named });
    if (attempt < notRequestedTries) throw new NotYetRequestedError(refusal.detail);
    return refuse({ envelope, actor, commandId, refusal: { ...refusal, code: 'not-requested' }, ...named });
  };
  const handle: Ledger['handle'] = async (message, { attempt }) => {
    const startedAt = clock.monotonic();
    const ended = (outcome: 'done' | 'refused' | 'poison' | 'failed'): void =>
      metrics?.requestEnded(typeLabel(message.headers['ce_type'] ?? ''), outcome, clock.monotonic() - startedAt);
    try {
      ended(await judge(readEnvelope(message), message, attempt));
    } catch (error) {
      ended(error instanceof PoisonMessageError ? 'poison' : 'failed');
      throw error;
    }
  };
  return { handle };
}

interface Refused {
  readonly envelope: Envelope;
  readonly actor: Actor;
  readonly commandId: string;
  readonly refusal: Refusal;
  readonly toolCallIds?: readonly string[];
  readonly runId?: string;
}

/** Attack: a producer writes an event that only a person or only the log may write. */
const notForSenders: Refusal = {
  code: 'forbidden',
  detail: 'this topic accepts requests only; responses come through a channel that authenticates the person',
};

const detailLengthMax = 2000;

function detailOf({ detail, errors = [] }: Refusal): string {
  const where = errors.map(({ path, message }) => `${path}: ${message}`).filter((each) => !detail.includes(each));
  return [detail, ...where].join('; ').slice(0, detailLengthMax);
}

/** An append that the store will never accept is a refusal, not a failure to retry. */
function tooLarge(error: unknown): Refusal {
  if (error instanceof EventTooLargeError) return { code: 'payload-too-large', detail: error.message };
  throw error;
}
