import { principalKey } from '@countersign/commands';
import type { Message, Place } from '@countersign/message-bus';
import { createLruMap } from '@countersign/runtime';
import { readEnvelope } from './envelope.js';
import type { Envelope } from './envelope.js';
import { checkSize } from './parse-request.js';
import type { RequestKeys } from './request-keys.js';
import { commandIdOf, findRequester } from './requester.js';
import type { ProvenRequester, Requester } from './requester.js';

/** Finds the senders of messages, and from them the places where the messages wait. */
export interface Places {
  /** Returns the place of a message; never rejects. */
  readonly of: (message: Message) => Promise<Place>;
  /** The sender of a message. A proof is used once: at a later try the key may be revoked. */
  readonly requesterOf: (envelope: Envelope, message: Message) => Promise<Requester>;
  /** A request of this sender is recorded or refused: its copies take no turn of the sender any more. */
  readonly ended: (envelope: Envelope, requester: Requester) => void;
}

/** How many of the latest requests are known as ended. */
const endedMax = 10_000;

/** The turns of messages without a proven principal. No principal has this key. */
const nobody: Place = { holder: 'unproven', lane: null };

/**
 * Messages wait by their proven principal, and in order within its run. Attack: messages under the key of another producer's
 * run, or thousands at once, so that the other one waits. The lane is the key: it is the run of every request that is carried
 * out, and one with another key is refused, in a lane of its own sender.
 */
export function createPlaces(
  options: Parameters<typeof findRequester>[2] & { readonly keys: RequestKeys | null },
): Places {
  const proofs = new WeakMap<Message, Requester>();
  const { keys } = options;
  const ended = createLruMap<true>(endedMax);
  /**
   * Attack: copies of a signed message, sent again by thousands, that use up the rate of its sender. A copy adds nothing, so
   * its order does not matter once the first one has ended.
   */
  const isCopy = (envelope: Envelope, requester: Requester): boolean =>
    ended.get(commandIdOf(envelope, requester)) === true;
  return {
    of: async (message) => {
      try {
        checkSize(message.value);
        const envelope = readEnvelope(message);
        const requester = await findRequester(envelope, message.value, options);
        proofs.set(message, requester);
        return isProven(requester) && !isCopy(envelope, requester)
          ? { holder: principalKey(requester.actor), lane: message.key }
          : nobody;
      } catch {
        // The handler has the same error, and parks the message.
        return nobody;
      }
    },
    requesterOf: async (envelope, message) => {
      const proof = proofs.get(message);
      proofs.delete(message);
      if (proof !== undefined && isStillProven(proof, keys)) return proof;
      return findRequester(envelope, message.value, options);
    },
    ended: (envelope, requester) => {
      if (isProven(requester)) ended.set(commandIdOf(envelope, requester), true);
    },
  };
}

function isProven(requester: Requester): requester is ProvenRequester {
  return requester.status === 'signed' || requester.status === 'unsigned';
}

/** The file of the keys may have changed while the message waited. */
function isStillProven(requester: Requester, keys: RequestKeys | null): boolean {
  if (requester.status !== 'signed') return requester.status === 'unsigned';
  return requester.key !== undefined && keys?.find(requester.key.kid) === requester.key;
}
