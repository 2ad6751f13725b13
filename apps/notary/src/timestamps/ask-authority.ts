import { randomBytes } from 'node:crypto';
import type { Sender } from '../sinks/send.js';
import type { TimestampSettings } from './timestamp-settings.js';

/** A time stamp that was verified. */
export interface Stamped {
  /** The answer as it came, in DER. */
  readonly reply: Uint8Array;
  readonly time: Date;
}

/** Asks for a time stamp of a text, and verifies it. @throws Error where there is none, with the reason */
export async function askAuthority(
  { send }: Pick<Sender, 'send'>,
  { url, roots }: Pick<TimestampSettings, 'url' | 'roots'>,
  text: string,
): Promise<Stamped> {
  const { timestampQuery, verifyTimestamp } = await import('@countersign/timestamps');
  const nonce = randomBytes(8);
  const headers = { 'content-type': 'application/timestamp-query', accept: 'application/timestamp-reply' };
  const { status, body } = await send({ method: 'POST', url, headers, body: timestampQuery(text, nonce) });
  if (status !== 200) throw new Error(`it answered with ${String(status)}`);
  const verified = verifyTimestamp(body, { text, nonce, roots: roots ?? undefined });
  if (verified.status === 'refused') throw new Error(`its answer does not count: ${verified.why}`);
  return { reply: body, time: verified.time };
}
