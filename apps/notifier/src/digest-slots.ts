import type { Digest } from '@countersign/channels';
import { businessSpans } from '@countersign/domain';
import { expiresAtOf, requirementOf } from '@countersign/domain';
import type { Approval } from '@countersign/domain';

const hourMs = 3_600_000;
const leadMsMax = hourMs / 2;
const everyDay = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** The last moment of a digest at or before a time, and the next one after it, in epoch ms. */
export function slotsAround(digest: Digest, atMs: number): { readonly lastMs: number; readonly nextMs: number } {
  if (digest.every === 'period') {
    const lastMs = Math.floor(atMs / digest.everyMs) * digest.everyMs;
    return { lastMs, nextMs: lastMs + digest.everyMs };
  }
  const { at, zone } = digest;
  // An hour that begins at that time, each day. A clock that is put forward over it begins the hour later.
  const until = `${String((Number(at.slice(0, 2)) + 1) % 24).padStart(2, '0')}${at.slice(2)}`;
  let lastMs = atMs;
  for (const { startMs } of businessSpans({ zone, days: [...everyDay], from: at, to: until }, atMs - 48 * hourMs)) {
    if (startMs > atMs) return { lastMs, nextMs: startMs };
    lastMs = startMs;
  }
  return { lastMs, nextMs: Infinity };
}

/**
 * The moments at which a digest lists an approval, in epoch ms: the last one, if it has passed since the approval was
 * requested or escalated, and the next one. Null: the approval would have too little time left after the first digest,
 * or its risk is high, so it is told at once. An approver has half an hour after a digest, or half of a shorter time.
 */
export function digestTimes(digest: Digest, approval: Approval, nowMs: number): readonly number[] | null {
  const { requestedAt, escalations } = approval;
  const expiresAt = expiresAtOf(approval);
  const sinceMs = Date.parse(escalations.at(-1)?.at ?? requestedAt);
  const untilMs = expiresAt === null ? Infinity : Date.parse(expiresAt);
  const latestMs = untilMs - Math.min(leadMsMax, (untilMs - sinceMs) / 2);
  if (requirementOf(approval).risk === 'high' || slotsAround(digest, sinceMs).nextMs > latestMs) return null;
  const { lastMs, nextMs } = slotsAround(digest, nowMs);
  return [lastMs, nextMs].filter((atMs) => atMs > sinceMs && atMs <= latestMs);
}
