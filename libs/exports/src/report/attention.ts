import { storedVersionOf, upcast } from '@countersign/contracts';
import type { LogEventView, RecordedEvent, ToolCallEvent } from '@countersign/contracts';
import { answerableAtMs, defaultPace, isFast, readingMs, toolCallDecider } from '@countersign/domain';
import type { ToolCallState } from '@countersign/domain';

/** How long a person took for a response. */
export interface Took {
  /** Since the person could give it. */
  readonly tookMs: number;
  /** True for an approval that came before its arguments could be read, also since its message was delivered. */
  readonly fast: boolean;
}

/** Follows the people who are asked about one call, as the figures of oversight do. */
export class Attention {
  #state: ToolCallState = toolCallDecider.initialState();
  #isJudged = false;
  /** When a channel first showed the question, by the channel's id, in epoch ms. */
  readonly #shownMs = new Map<string, number>();

  take({ type, data }: LogEventView): void {
    if (data === null) return;
    if (type === 'NotificationDelivered') this.#shown(data as unknown as Delivered);
    if (type === 'ToolCallAllowed' || type === 'ToolCallBlocked') this.#isJudged = true;
    if (!followed.has(type)) return;
    // Each question has messages of its own.
    if (type === 'ApprovalRequested') this.#shownMs.clear();
    this.#state = toolCallDecider.evolve(this.#state, toEvent(type as ToolCallEvent['type'], data));
  }

  /** Of the response that was taken last, to arguments of so many characters; undefined: no person's vote counts. */
  lastResponse(characters: number): Took | undefined {
    const approval = this.#state.status === 'recorded' ? this.#state.approvals.at(-1) : undefined;
    const vote = approval?.votes.at(-1);
    if (approval === undefined || vote === undefined) return undefined;
    const respondedMs = Date.parse(vote.respondedAt);
    const answerableMs = answerableAtMs(approval, vote);
    const seenMs = Math.max(answerableMs, this.#shownMs.get(vote.via) ?? 0);
    const fast = isFast(vote, respondedMs - seenMs, readingMs(defaultPace, characters));
    return { tookMs: Math.max(0, respondedMs - answerableMs), fast };
  }

  /** True when nobody is asked any more. */
  isOver(): boolean {
    if (this.#state.status !== 'recorded') return false;
    const approval = this.#state.approvals.at(-1);
    return approval === undefined ? this.#isJudged : approval.resolution.status !== 'pending';
  }

  #shown({ channelId, deliveredAt }: Delivered): void {
    if (!this.#shownMs.has(channelId)) this.#shownMs.set(channelId, Date.parse(deliveredAt));
  }
}

interface Delivered {
  readonly channelId: string;
  readonly deliveredAt: string;
}

const followed: ReadonlySet<string> = new Set<ToolCallEvent['type']>([
  ...(['ToolCallRequested', 'ApprovalRequested', 'ApprovalResponded', 'ResponseWithdrawn'] as const),
  ...(['ApprovalExpired', 'ApprovalEscalated', 'ToolCallCancelled', 'ToolCallCommitted'] as const),
]);

function toEvent(type: ToolCallEvent['type'], data: NonNullable<LogEventView['data']>): ToolCallEvent {
  const schemaVersion = storedVersionOf(type, data);
  return upcast({ type, data, metadata: { schemaVersion } } as unknown as RecordedEvent) as ToolCallEvent;
}
