import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@countersign/runtime';

const ageSMax = 300;

/**
 * Whether Slack signed these bytes, and less than five minutes ago. Attacks: a forged or changed body, and one recorded
 * earlier. The bytes are those that came, before anything parsed them.
 */
export function isSignedBySlack(
  body: Uint8Array,
  headers: { readonly timestamp: string | undefined; readonly signature: string | undefined },
  secret: Secret,
  nowMs: number,
): boolean {
  const { timestamp = '', signature = '' } = headers;
  if (!/^\d{1,12}$/.test(timestamp) || !/^v0=[0-9a-f]{64}$/.test(signature)) return false;
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > ageSMax) return false;
  const wanted = createHmac('sha256', secret.reveal()).update(`v0:${timestamp}:`).update(body).digest();
  return timingSafeEqual(wanted, Buffer.from(signature.slice('v0='.length), 'hex'));
}
