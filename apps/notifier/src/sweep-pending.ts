import type { Channel, ChannelsConfig, PeopleNow } from '@countersign/channels';
import { keyText } from '@countersign/domain';
import type { ApprovalOfCall, ReadModel } from '@countersign/read-model';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { Job } from './planned-message.js';
import type { Retry } from './failed-deliveries.js';
import { questionMessages } from './wanted-messages.js';

export interface SweepOptions {
  readonly readModel: Pick<ReadModel, 'listApprovals'>;
  readonly channels: readonly Channel[];
  readonly people: PeopleNow;
  readonly routes: ChannelsConfig['routes'];
  readonly clock: Clock;
  readonly log: Log;
  readonly tenant?: string;
}

const pageSize = 200;
const pauseMs = 60_000;
/** How long a message is left to the consumer group before the sweep plans it. */
const takeoverMs = 60_000;

/**
 * Sweeps the pending approvals periodically and plans their remaining messages: at the start for the whole plan, later
 * to take over what another notifier left. Each message is planned once; who sends it is decided when it is due.
 */
export async function sweepPending(
  options: SweepOptions,
  signal: AbortSignal,
  plan: (job: Job, dueAtMs: number) => void,
): Promise<void> {
  let planned: ReadonlySet<string> = new Set();
  while (!signal.aborted) {
    try {
      planned = await sweep(options, signal, plan, planned);
    } catch (error) {
      options.log.warn({ error }, 'the pending approvals cannot be read now; retrying');
    }
    await sleep(options.clock, pauseMs, signal);
  }
}

/** Runs one sweep. Returns what is planned for the approvals that are still pending. */
async function sweep(
  options: SweepOptions,
  signal: AbortSignal,
  plan: (job: Job, dueAtMs: number) => void,
  planned: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const { readModel, tenant = 'default', clock } = options;
  const still = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = readModel.listApprovals(tenant, { state: 'pending', limit: pageSize, cursor });
    if (page.status !== 'page') break;
    for (const { job, dueAtMs } of page.rows.flatMap((row) => messagesOf(row, options))) {
      const id = `${job.approvalId ?? ''}${keyText(job.key)}`;
      still.add(id);
      if (!planned.has(id)) plan(job, dueAtMs);
    }
    cursor = page.nextCursor ?? undefined;
    // Others get a turn between the pages.
    await sleep(clock, 0, signal);
  } while (cursor !== undefined && !signal.aborted);
  return still;
}

function messagesOf({ call, approval }: ApprovalOfCall, options: SweepOptions): readonly Retry[] {
  const { callId } = call.request;
  const { approvalId } = approval;
  return options.channels.flatMap((channel) =>
    questionMessages(call, approval, channel, options, options.clock.now()).map(({ key, dueAtMs }) => {
      const isOwnTurn = key.kind === 'requested' && channel.gatherMs === 0 && dueAtMs <= options.clock.now();
      return { job: { callId, approvalId, key, dueAtMs }, dueAtMs: isOwnTurn ? dueAtMs + takeoverMs : dueAtMs };
    }),
  );
}
