import type { ApprovalView } from '@countersign/contracts';
import type { Outcome } from '../history/outcomes.js';

/** The counts per outcome for one name. */
export interface Tally {
  readonly name: string;
  readonly counts: Readonly<Record<Outcome, number>>;
  readonly total: number;
}

/** The median and the 95th percentile of the decision times. */
export interface DecisionTimes {
  readonly buckets: readonly { readonly name: string; readonly count: number }[];
  readonly medianMs: number | undefined;
  readonly slowMs: number | undefined;
  /** Approvals that were faster than a person can read. */
  readonly hastyCount: number;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/** The shortest time in which a person can read a card. */
const hastyMs = 2000;
const namesMax = 8;

/** Counts of ended approvals per hour or per day, whichever is easier to read. */
export function volume(approvals: readonly ApprovalView[], nowMs: number): readonly Tally[] {
  const ended = approvals.filter(({ resolvedAt }) => resolvedAt !== null);
  const oldestMs = Math.min(...ended.map(endMs), nowMs);
  const stepMs = nowMs - oldestMs > 2 * dayMs ? dayMs : hourMs;
  const slots = stepMs === dayMs ? 14 : 24;
  const lastSlot = Math.floor(nowMs / stepMs);
  return Array.from({ length: slots }, (_, index) => {
    const slot = lastSlot - slots + 1 + index;
    const start = new Date(slot * stepMs);
    const name =
      stepMs === dayMs
        ? start.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
        : `${String(start.getHours()).padStart(2, '0')}:00`;
    return tally(
      name,
      ended.filter((approval) => Math.floor(endMs(approval) / stepMs) === slot),
    );
  });
}

const limits = [
  ['< 10 s', 10_000],
  ['< 1 min', minuteMs],
  ['< 5 min', 5 * minuteMs],
  ['< 15 min', 15 * minuteMs],
  ['< 1 h', hourMs],
  ['< 4 h', 4 * hourMs],
  ['longer', Number.POSITIVE_INFINITY],
] as const;

/** The time from the request to the decision. */
export function decisionTimes(approvals: readonly ApprovalView[]): DecisionTimes {
  const decided = approvals.filter(({ state }) => state === 'approved' || state === 'denied');
  const times = decided.map((approval) => endMs(approval) - Date.parse(approval.requestedAt)).sort((a, b) => a - b);
  const buckets = limits.map(([name, limit], index) => {
    const from = limits[index - 1]?.[1] ?? Number.NEGATIVE_INFINITY;
    return { name, count: times.filter((ms) => ms >= from && ms < limit).length };
  });
  const hasty = decided.filter(
    (approval) => approval.state === 'approved' && endMs(approval) - Date.parse(approval.requestedAt) < hastyMs,
  );
  return {
    buckets,
    medianMs: times[Math.floor(times.length / 2)],
    slowMs: times[Math.floor(times.length * 0.95)],
    hastyCount: hasty.length,
  };
}

/** The outcomes per tool, the busiest first. */
export function byTool(approvals: readonly ApprovalView[]): readonly Tally[] {
  return grouped(approvals, ({ toolName }) => [toolName]);
}

/** The outcomes per approver. */
export function byApprover(approvals: readonly ApprovalView[]): readonly Tally[] {
  return grouped(approvals, ({ responses }) => [...new Set(responses.map(({ respondedBy }) => respondedBy))]);
}

function grouped(
  approvals: readonly ApprovalView[],
  namesOf: (approval: ApprovalView) => readonly string[],
): readonly Tally[] {
  const groups = new Map<string, ApprovalView[]>();
  for (const approval of approvals) {
    for (const name of namesOf(approval)) {
      const group = groups.get(name);
      if (group === undefined) groups.set(name, [approval]);
      else group.push(approval);
    }
  }
  return [...groups]
    .map(([name, group]) => tally(name, group))
    .sort((a, b) => b.total - a.total)
    .slice(0, namesMax);
}

function tally(name: string, approvals: readonly ApprovalView[]): Tally {
  const count = (outcome: Outcome) => approvals.filter(({ state }) => state === outcome).length;
  const counts = {
    approved: count('approved'),
    denied: count('denied'),
    expired: count('expired'),
    cancelled: count('cancelled'),
  };
  return { name, counts, total: approvals.length };
}

function endMs({ resolvedAt, requestedAt }: ApprovalView): number {
  return Date.parse(resolvedAt ?? requestedAt);
}
