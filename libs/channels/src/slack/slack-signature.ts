import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Secret } from '@countersign/runtime';

const ageSMax = 300;

/**
 * Returns whether Slack signed these bytes less than five minutes ago. Attacks: a forged or changed body, and a
 * replayed one. The bytes are the raw body, before any parsing.
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
