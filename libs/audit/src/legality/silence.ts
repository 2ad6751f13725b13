import type { EventData, SystemEventData } from '@countersign/contracts';
import type { CallState, ProposalState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement, Unproven } from './judged-event.js';
import type { StreamState } from './streams.js';
import { isBeforeBy, isPastEnd, storedAfter } from './times.js';

/** Since this version silence approves only where the service ran all the time (ADR 102). Versions before it were more lenient. */
export const strictSilenceSince = '2026-11-29T16:19:57.000Z';

/** No silence approves later than this after its deadline: the service was away then. */
const lateMsMax = 10_000;

/** What the log says about the times in which nobody could respond. */
export interface Silences {
  /** Adds to a call about which people are asked how many starts were recorded before. */
  readonly placed: (event: JudgedEvent, after: StreamState) => StreamState;
  /** Judges an approval by silence, with the state of its call before it. Other events are legal. */
  readonly judge: (event: JudgedEvent, state: StreamState | undefined) => Judgement;
  readonly take: (event: JudgedEvent) => void;
}

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * No process has started yet. Attack: the operator stops the service, so that nobody can object to a question, and the deadline
 * passes. Only starts are recorded, and only in the log of the tenant `default`; of a cluster no start tells whether another process
 * went on. So every silence is named as not proven in that.
 */
export function createSilences(): Silences {
  let [startedAt, starts] = ['', 0];
  return {
    placed: ({ type }, after) => (type === 'ApprovalRequested' && after.kind === 'call' ? { ...after, starts } : after),
    take: ({ type, data }) => {
      if (type !== 'ProcessStarted') return;
      const started = data as SystemEventData<'ProcessStarted'>;
      if (started.role !== 'standalone') return;
      starts += 1;
      if (started.startedAt > startedAt) ({ startedAt } = started);
    },
    judge: (event, state) => {
      if (event.type !== 'ApprovalResponded' || state?.kind !== 'call' || state.approval === null) return legal;
      const { proposal } = state.approval;
      const response = event.data as EventData<'ApprovalResponded'>;
      if (!response.automatic) return legal;
      const broken = event.recordedAt < strictSilenceSince ? [] : brokenBy(response, proposal, startedAt);
      const isAcrossStart = (state.starts ?? 0) < starts && startedAt <= proposal.proposedAt;
      return { illegal: broken, unproven: unprovenOf(event, state, proposal, isAcrossStart) };
    },
  };
}

/** A full disk lets a start be recorded later than it was, so that its place in the log is no finding. */
function unprovenOf(
  event: JudgedEvent,
  call: CallState,
  { expiresAt: [deadline = null] }: ProposalState,
  isAcrossStart: boolean,
): readonly Unproven[] {
  const isEarly = deadline !== null && event.recordedAt < deadline;
  const isLate = deadline !== null && isPastEnd(storedAfter(deadline, lateMsMax), event, call);
  return [
    'silence-time',
    ...(isEarly ? (['early-silence'] as const) : []),
    ...(isLate ? (['late-silence'] as const) : []),
    ...(isAcrossStart ? (['late-start'] as const) : []),
  ];
}

function brokenBy(
  { respondedAt }: EventData<'ApprovalResponded'>,
  { proposedAt, expiresAt }: ProposalState,
  startedAt: string,
): readonly Illegal[] {
  const [deadline = null] = expiresAt;
  const isLate = deadline !== null && isBeforeBy(lateMsMax, deadline, respondedAt);
  return [
    ...(startedAt > proposedAt
      ? [illegal('silence', `the service started at ${startedAt}, after the question: it did not run all the time`)]
      : []),
    ...(isLate ? [illegal('silence', 'it was recorded long after its deadline')] : []),
  ];
}
