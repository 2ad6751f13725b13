import type { EventData, SystemEventData } from '@countersign/contracts';
import type { ProposalState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement } from './judged-event.js';
import type { StreamState } from './streams.js';
import { isBeforeBy } from './times.js';

/** Since this version silence approves only where the service ran all the time (ADR 102). Versions before it were more lenient. */
const strictSince = '2026-11-29T16:19:57.000Z';

/** No silence approves later than this after its deadline: the service was away then. */
const lateMsMax = 10_000;

/** What the log says about the times in which nobody could respond. */
export interface Silences {
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
  let startedAt = '';
  return {
    take: ({ type, data }) => {
      if (type !== 'ProcessStarted') return;
      const started = data as SystemEventData<'ProcessStarted'>;
      if (started.role === 'standalone' && started.startedAt > startedAt) ({ startedAt } = started);
    },
    judge: (event, state) => {
      const approval = state?.kind === 'call' ? state.approval : null;
      if (event.type !== 'ApprovalResponded' || approval === null) return legal;
      const response = event.data as EventData<'ApprovalResponded'>;
      if (!response.automatic) return legal;
      const broken = event.recordedAt < strictSince ? [] : brokenBy(response, approval.proposal, startedAt);
      const [deadline = null] = approval.proposal.expiresAt;
      const isEarly = deadline !== null && event.recordedAt < deadline;
      return { illegal: broken, unproven: ['silence-time', ...(isEarly ? (['early-silence'] as const) : [])] };
    },
  };
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
