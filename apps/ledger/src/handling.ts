import { withoutWrites, WouldWriteError } from '@countersign/commands';
import type { Refusal } from '@countersign/contracts';
import { EarlyMessageError } from '@countersign/message-bus';
import type { Delivery } from '@countersign/message-bus';
import { UnreadableStreamError } from '@countersign/commands';
import { EventTooLargeError } from '@countersign/event-store';
import { callIdOf, dispatchRequest } from './dispatch-request.js';
import type { DispatchPorts } from './dispatch-request.js';
import type { Envelope } from './envelope.js';
import type { Request } from './parse-request.js';
import type { Refuse } from './refuse.js';
import { commandIdOf } from './requester.js';
import type { LateRequester, ProvenRequester, Requester, Unsigned, UnverifiedRequester } from './requester.js';

/** A try of a message, as far as the ledger needs to know. Without `isBehind` no other message waits. */
export type Try = Pick<Delivery, 'attempt'> & Partial<Pick<Delivery, 'isBehind'>>;

/**
 * The call of a request is not recorded: the message may have overtaken the one that requests it. It waits apart from its
 * run, so that it delays no other call. Later messages of its sender about the same call wait behind it.
 */
export class NotYetRequestedError extends EarlyMessageError {
  override readonly name = 'NotYetRequestedError';
}

/** A request whose sender is known, and the names in it. */
export interface Asked<R extends Requester> {
  readonly envelope: Envelope;
  readonly requester: R;
  readonly runId: string;
  readonly toolCallIds: readonly string[];
}

export interface Handling {
  /** Carries out a request, or refuses it. @throws NotYetRequestedError when the call may still come. */
  readonly carryOut: (asked: Asked<ProvenRequester>, request: Request, one: Try) => Promise<'done' | 'refused'>;
  /** Tells a redelivery from a new request. A redelivery of a recorded one adds nothing, however old its signature is. */
  readonly recognise: (asked: Asked<LateRequester>, request: Request) => Promise<'done' | 'refused'>;
}

export interface HandlingOptions extends DispatchPorts {
  readonly unsigned: Pick<Unsigned, 'tenant'>;
  readonly refuse: Refuse;
  readonly refuseStranger: (envelope: Envelope, requester: UnverifiedRequester) => Promise<'refused'>;
  /** How often a request for an unknown call is retried before it is refused. Default: 4. */
  readonly notRequestedTries?: number;
}

/** What becomes of requests whose sender is known. */
export function createHandling(options: HandlingOptions): Handling {
  const { refuse, refuseStranger, notRequestedTries = 4 } = options;
  const readers = withoutWrites(options);
  return {
    carryOut: async (asked, request, { attempt, isBehind }) => {
      const { envelope, requester } = asked;
      const { actor } = requester;
      const callId = callIdOf(actor, request);
      const mayWait = callId !== undefined && attempt < notRequestedTries;
      if (mayWait && isBehind?.(callId) === true) throw new NotYetRequestedError(callId, behindAnother);
      const commandId = commandIdOf(envelope, requester);
      const refusal = await dispatchRequest(options, actor, request, commandId).catch(refusalIn);
      if (refusal === undefined) return 'done';
      if (refusal.code === 'not-found' && mayWait) throw new NotYetRequestedError(callId, refusal.detail);
      return refuse({ ...asked, refusal: asNotRequested(refusal) });
    },
    recognise: async (asked, request) => {
      const { envelope, requester } = asked;
      const { actor, why } = requester;
      try {
        const refusal = await dispatchRequest(readers, actor, request, commandIdOf(envelope, requester)).catch(
          refusalIn,
        );
        return refusal === undefined ? 'done' : await refuse({ ...asked, refusal: asNotRequested(refusal) });
      } catch (error) {
        if (!(error instanceof WouldWriteError)) throw error;
        return refuseStranger(envelope, { status: 'unverified', tenant: options.unsigned.tenant, why });
      }
    },
  };
}

const behindAnother = 'an earlier message about this call still waits for the one that requests the call';

function asNotRequested(refusal: Refusal): Refusal {
  return refusal.code === 'not-found' ? { ...refusal, code: 'not-requested' } : refusal;
}

/** An append that the store will never accept is a refusal, not a failure to retry. */
function refusalIn(error: unknown): Refusal {
  if (error instanceof UnreadableStreamError) return error.refusal;
  if (error instanceof EventTooLargeError) return { code: 'payload-too-large', detail: error.message };
  throw error;
}
