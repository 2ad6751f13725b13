import type { Notice } from '../channel.js';
import { inboxLink } from '../card/inbox-link.js';

/** Standard Webhooks asks for less than 20 kB. */
const bodyBytesMax = 20_000;

/**
 * The body of a message as JSON, at most 20,000 bytes. A larger one lacks its largest members, and `omitted` names them.
 * `link` is where people look at a pending approval; it is left out without a public url.
 */
export function webhookBodyOf({ kind, nth, call, approval, at }: Notice, publicUrl: string | null): string {
  const isOutcome = kind === 'succeeded' || kind === 'failed' || kind === 'unknown' || kind === 'blocked';
  const type = isOutcome ? `toolcall.${kind}` : `approval.${kind}`;
  const link = approval === null ? null : inboxLink(publicUrl, approval.approvalId);
  const more = { ...(nth === 0 ? {} : { nth }), ...(link === null ? {} : { link }) };
  const data = { ...(isOutcome || approval === null ? call : approval), ...more };
  return withinLimit((shown) => JSON.stringify({ type, timestamp: at, data: shown }), data);
}

function withinLimit(textOf: (data: object) => string, data: Readonly<Record<string, unknown>>): string {
  const whole = textOf(data);
  if (Buffer.byteLength(whole) <= bodyBytesMax) return whole;
  const largest = Object.entries(data)
    .map(([name, value]) => ({ name, bytes: Buffer.byteLength(JSON.stringify(value)) }))
    .toSorted((one, other) => other.bytes - one.bytes);
  const omitted: string[] = [];
  for (const { name } of largest) {
    omitted.push(name);
    const left = Object.fromEntries(Object.entries(data).filter(([member]) => !omitted.includes(member)));
    const text = textOf({ ...left, omitted });
    if (Buffer.byteLength(text) <= bodyBytesMax) return text;
  }
  return textOf({ omitted });
}

/**
 * The body of a digest: the pending approvals, oldest first, without arguments. `more` counts those that do not fit.
 */
export function webhookDigestOf(notices: readonly [Notice, ...Notice[]], publicUrl: string | null): string {
  const all = notices
    .flatMap(({ approval }) => (approval === null ? [] : [approval]))
    .toSorted((one, other) => (one.requestedAt < other.requestedAt ? -1 : 1))
    .map(({ approvalId, callId, runId, agentId, toolName, risk, requestedAt, expiresAt }) => {
      const link = inboxLink(publicUrl, approvalId);
      const what = { approvalId, callId, runId, agentId, toolName, risk, requestedAt, expiresAt };
      return link === null ? what : { ...what, link };
    });
  const textOf = (count: number): string => {
    const data = { approvals: all.slice(0, count), more: all.length - count };
    return JSON.stringify({ type: 'approval.digest', timestamp: notices[0].at, data });
  };
  let count = all.length;
  while (count > 0 && Buffer.byteLength(textOf(count)) > bodyBytesMax) count -= 1;
  return textOf(count);
}
