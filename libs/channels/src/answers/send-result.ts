import { printable } from '@countersign/text';
import type { SendResult } from '../channel.js';
import type { Meaning } from './meaning.js';

/** A failed try: what the answer is about, and the words for the log. */
export interface Refusal {
  readonly means: Meaning;
  readonly reason: string;
  /** How long the other side asked to wait. */
  readonly afterMs?: number | undefined;
  /** True: another recipient may be reached meanwhile. */
  readonly isOfOneRecipient?: boolean;
}

/**
 * Returns what becomes of a message. `isCopyElsewhere`: it is a change of a copy in an earlier chat, which says nothing
 * about the chat of today.
 */
export function toSendResult(refusal: Refusal, isCopyElsewhere = false): SendResult {
  const { reason, afterMs, isOfOneRecipient } = refusal;
  const means = isCopyElsewhere && refusal.means === 'address' ? 'message' : refusal.means;
  switch (means) {
    case 'done':
      return { status: 'delivered', messageRef: null };
    case 'off':
      return { status: 'off', reason };
    case 'message':
    case 'recipient':
      return { status: 'refused', about: means, reason };
    case 'address':
    case 'channel':
    case 'retry': {
      const about = isOfOneRecipient === true ? ({ about: 'recipient' } as const) : {};
      return { status: 'failed', ...about, reason, ...(afterMs === undefined ? {} : { retryAfterMs: afterMs }) };
    }
  }
}

const wordsMax = 300;

/** A shorter text is found in any words. */
const secretLengthMin = 4;

/** The words of the other side in one line. `secrets`: what they must not repeat, in no spelling that was sent. */
export function vendorWords(text: string, secrets: readonly (string | undefined)[] = []): string {
  const hidden = secrets.flatMap((secret = '') => (secret.length < secretLengthMin ? [] : spellingsOf(secret)));
  const shown = hidden.reduce((left, secret) => left.replaceAll(secret, '[hidden]'), text);
  return printable(shown.replaceAll(/\s+/g, ' ').trim(), wordsMax);
}

/** Of several secrets in a row, base64 shows each one differently: the caller names what was sent as one. */
function spellingsOf(secret: string): readonly string[] {
  const base64 = Buffer.from(secret).toString('base64');
  return [secret, encodeURIComponent(secret), base64];
}
