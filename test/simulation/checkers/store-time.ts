import type { RecordedEvent, ToolCallEvent } from '@countersign/contracts';
import { dueCommand, expiresAtOf, fold, toolCallDecider } from '@countersign/domain';
import type { ToolCallState } from '@countersign/domain';
import { eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/** How far a process may be wrong about the store's time. */
const errorMsMax = 2_500;
/** A clock that is off by this much is noticed by every process. */
const noticedMs = 4_500;
/** The longest way from a decision to the log: its process is frozen, and the store is down. */
const wayMsMax = 120_000;

const ofTheClock = new Set([
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ApprovalLapsed',
  'ExecutionLapsed',
]);

/**
 * Only the store's time grants: stored times are the store's, nothing happens before it is due, no vote is refused as
 * late that is in time, and a process whose clock is wrong fires nothing.
 */
export const storeTime: CreateChecker = (site, fail) => {
  const { world } = site;
  return {
    onRecorded: (event) => {
      const recordedMs = Date.parse(event.recordedAt);
      for (const [name, atMs] of timesOf(event)) {
        const aheadMs = atMs - recordedMs;
        if (aheadMs > errorMsMax || aheadMs < -wayMsMax) {
          fail(`${event.type} has a ${name} that is ${String(aheadMs)} ms after its recorded time`);
        }
      }
      if (!isOfTheClock(event)) return;
      const before = eventsOf(site, event.metadata.callId ?? '').filter(({ revision }) => revision < event.revision);
      if (dueCommand(stateOf(before), recordedMs + errorMsMax) === null) {
        fail(`${event.type} of ${String(event.metadata.callId)} comes before it is due`);
      }
    },
    onDeadline: ({ name, clock }) => {
      const aheadMs = clock.now() - world.clock.now();
      if (Math.abs(aheadMs) > noticedMs) fail(`${name} fires a deadline although it is ${String(aheadMs)} ms ahead`);
    },
    onAcknowledged: ({ request, reply, sentAtMs }) => {
      if (request.kind !== 'respond' || reply.code !== 'expired') return;
      const approvalId = /apr_[^/]+/.exec(request.target)?.[0] ?? '';
      for (const events of world.log.streams.values()) {
        if (events[0]?.type !== 'ToolCallRequested') continue;
        const leftMs = leastLeftMs(events, approvalId, sentAtMs, world.clock.now());
        if (leftMs > errorMsMax) fail(`a vote on ${approvalId} is late ${String(leftMs)} ms before the deadline`);
      }
    },
  };
};

/**
 * The least time that was left to an approval between two moments; 0 or less: it had ended. A refusal is decided at one
 * of them: its process may be frozen before it answers, while another one moves the deadline.
 */
function leastLeftMs(events: readonly RecordedEvent[], approvalId: string, fromMs: number, untilMs: number): number {
  const left = events.flatMap((_, index) => {
    const next = events[index + 1];
    const endMs = next === undefined ? untilMs : Date.parse(next.recordedAt);
    if (endMs < fromMs) return [];
    const state = stateOf(events.slice(0, index + 1));
    const approval =
      state.status === 'recorded' ? state.approvals.find((one) => one.approvalId === approvalId) : undefined;
    if (approval === undefined) return [];
    return [approval.resolution.status === 'pending' ? Date.parse(expiresAtOf(approval) ?? '') - endMs : 0];
  });
  return left.length === 0 ? 0 : Math.min(...left);
}

/** The times at which an event says that it happened. */
function timesOf({ data }: RecordedEvent): (readonly [string, number])[] {
  return Object.entries(data).flatMap(([name, value]) =>
    /^(requested|responded|expired|escalated|reminded|lapsed|claimed|renewed)At$/.test(name) &&
    typeof value === 'string'
      ? [[name, Date.parse(value)] as const]
      : [],
  );
}

function isOfTheClock({ type, data }: RecordedEvent): boolean {
  return ofTheClock.has(type) || (type === 'ApprovalResponded' && 'automatic' in data && data.automatic);
}

function stateOf(events: readonly RecordedEvent[]): ToolCallState {
  return fold(
    toolCallDecider,
    events.map(({ type, data }) => ({ type, data }) as ToolCallEvent),
  );
}
