import { isReadable, shownCharacters } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { answerableAtMs, currentProposal, defaultPace, isFast, readingMs } from '@countersign/domain';
import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import { Counter, Gauge, Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** The dependencies of these metrics. */
export interface DecisionSources {
  readonly readModel: Pick<ReadModel, 'onApplied' | 'approval' | 'pendingSince'>;
  readonly clock: Pick<Clock, 'now'>;
}

/** A second to four days. */
const secondsBuckets = [1, 2, 5, 10, 30, 60, 300, 900, 3_600, 14_400, 86_400, 345_600];
const happenings: Readonly<Partial<Record<RecordedEvent['type'], string>>> = {
  ApprovalRequested: 'requested',
  ApprovalExpired: 'expired',
  ApprovalEscalated: 'escalated',
  ApproversReminded: 'reminded',
  ResponseWithdrawn: 'withdrawn',
  ValuesRevealed: 'revealed',
};
const ages = { '10m': 600_000, '1h': 3_600_000, '1d': 86_400_000 } as const;

/**
 * How people decide, over all tenants, with labels of a few fixed values. A process counts what the log has gained since
 * its start; each gateway sees the whole log, so the figures of several gateways are the same and not parts of a sum.
 */
export function observeDecisions(registry: Registry, sources: DecisionSources): void {
  const registers = [registry];
  const seconds = new Histogram({
    name: 'countersign_decision_seconds',
    help: 'From when a person could decide to their decision, by its type.',
    labelNames: ['decision'],
    buckets: secondsBuckets,
    registers,
  });
  const fast = new Counter({
    name: 'countersign_fast_approvals_total',
    help: 'Approvals that came before their arguments could be read. A hint, not a proof.',
    registers,
  });
  const events = new Counter({
    name: 'countersign_approval_events_total',
    help: 'What happened to approvals: requested, expired, escalated, reminded, withdrawn, revealed.',
    labelNames: ['event'],
    registers,
  });
  observePendingByAge(registry, sources);
  const { readModel, clock } = sources;
  // A read model that is built again applies the events of years.
  const startedAt = new Date(clock.now()).toISOString();
  readModel.onApplied((applied) => {
    for (const event of applied.events) {
      if (!isReadable(event) || event.recordedAt < startedAt) continue;
      const happening = happenings[event.type];
      if (happening !== undefined) events.inc({ event: happening });
      const decided = decisionOf(readModel, event);
      if (decided === undefined) continue;
      seconds.observe({ decision: decided.type }, decided.tookMs / 1000);
      if (decided.isFast) fast.inc();
    }
  });
}

interface Decided {
  readonly type: string;
  readonly tookMs: number;
  readonly isFast: boolean;
}

/** The decision of an event, by the vote as it is recorded; undefined for any other event, and for silence that approves. */
function decisionOf(
  readModel: Pick<ReadModel, 'approval'>,
  { type, data, metadata }: RecordedEvent,
): Decided | undefined {
  if (type !== 'ApprovalResponded') return undefined;
  const { approvalId, respondedAt, automatic } = data as Extract<RecordedEvent['data'], { respondedAt: string }>;
  const approval = automatic ? undefined : readModel.approval(metadata.tenant, approvalId)?.approval;
  const vote = approval?.votes.findLast((one) => one.respondedAt === respondedAt);
  if (approval === undefined || vote === undefined) return undefined;
  const tookMs = Math.max(0, Date.parse(vote.respondedAt) - answerableAtMs(approval, vote));
  // The arguments may be large, so they are measured only where it can matter.
  const mayBeFast = vote.decision.type === 'approve' && tookMs < defaultPace.maxMs;
  const { arguments: args, sensitive } = currentProposal(approval).action;
  const leastMs = mayBeFast ? readingMs(defaultPace, shownCharacters(args, sensitive)) : 0;
  return { type: vote.decision.type, tookMs, isFast: isFast(vote, tookMs, leastMs) };
}

function observePendingByAge(registry: Registry, { readModel, clock }: DecisionSources): void {
  new Gauge({
    name: 'countersign_pending_approvals_older',
    help: 'Approvals that wait for people since longer than 10 minutes, an hour, a day.',
    labelNames: ['than'],
    registers: [registry],
    collect() {
      try {
        for (const [than, ageMs] of Object.entries(ages))
          this.set({ than }, readModel.pendingSince(clock.now() - ageMs));
      } catch {
        // A figure that cannot be read now does not take the others with it.
        this.reset();
      }
    },
  });
}
