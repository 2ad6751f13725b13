import type { ApprovalView, NotificationKind, ToolCallView } from '@countersign/contracts';
import type { Person } from './config/channels-file.js';

/** The ports that a link to the inbox needs. */
export interface LinkPorts {
  /** The public URL of the gateway; null: messages have no link. */
  readonly publicUrl: string | null;
}

/** The place of a message, or why it has none. */
export type Located =
  { readonly status: 'known'; readonly place: string } | { readonly status: 'nowhere'; readonly reason: string };

/** The content of a message. The views are masked: no channel sees the value of a sensitive field. */
export interface Notice {
  /** The same for a repeat of the same message, so that a receiver can drop it. */
  readonly messageId: string;
  readonly kind: NotificationKind;
  /** 1 for the first reminder; 0 for every other kind. */
  readonly nth: number;
  readonly call: ToolCallView;
  /** Null for a call without an approval. */
  readonly approval: ApprovalView | null;
  /** The other questions that one response decides about; `shownDigest` of the approval covers them. Absent: none. */
  readonly together?: readonly { readonly call: ToolCallView; readonly approval: ApprovalView }[];
  /** When it happened: RFC 3339. */
  readonly at: string;
  /** Whom a personal channel writes to. */
  readonly recipient: Person | null;
  /** The labels of the call. Default: those of the approval. */
  readonly labels?: Readonly<Record<string, string>>;
}

/**
 * The result of a message. `failed`: a retry may succeed; `refused`: this message never succeeds, others may; `off`:
 * the other side wants no more messages. `about`: what the other side refused; with `recipient`, other people may be
 * reached meanwhile. Reasons have the other side's words, and no secret.
 */
export type SendResult =
  | {
      readonly status: 'delivered';
      readonly messageRef: string | null;
      /** What the operator must know although it was delivered. */
      readonly note?: string;
    }
  | {
      readonly status: 'failed';
      /** Absent: the channel. */
      readonly about?: 'recipient';
      readonly reason: string;
      readonly retryAfterMs?: number;
    }
  | { readonly status: 'refused'; readonly about: 'message' | 'recipient'; readonly reason: string }
  | { readonly status: 'off'; readonly reason: string };

/** The channel itself limits the time of sending; the signal can end it earlier. */
export interface SendOptions {
  readonly signal: AbortSignal;
  /** The request's copy that an outcome belongs to, if it exists. */
  readonly inReplyTo?: string;
}

/**
 * One way to reach people. All channels are equal and untrusted: their content is masked, and their responses are
 * checked.
 *
 * MUST for every adapter (the contract suite proves it): a repeated send is harmless; input that is hostile to its
 * format is shown as text; `send` and `update` never throw and end within 15 s.
 */
export interface Channel {
  readonly id: string;
  readonly type: 'slack' | 'telegram' | 'teams' | 'email' | 'webhook';
  /** `personal`: one message per person; `shared`: one for all. */
  readonly addressing: 'shared' | 'personal';
  /** Identifies the address of the other side, if that can switch the channel off, without revealing it. */
  readonly endpoint?: string;
  /** Notices within this many milliseconds are combined into one message; 0: each is sent alone. */
  readonly gatherMs: number;
  /** True if the outcome is posted under the request's copy without a route for it. */
  readonly tellsOutcomeBelow: boolean;
  /** Names by the labels of a call the one mailbox that a personal channel writes to. Absent: that of each recipient. */
  readonly mailbox?: (notice: Pick<Notice, 'approval' | 'labels'>) => Located;
  /** Sends one message: one notice, or all notices that were combined for one recipient. */
  readonly send: (notices: readonly [Notice, ...Notice[]], options: SendOptions) => Promise<SendResult>;
  /** Changes a copy to what is true now. Absent where what was sent cannot be changed. */
  readonly update?: (messageRef: string, notice: Notice, options: SendOptions) => Promise<SendResult>;
}

/** The current content of a copy that was sent earlier. */
export function copyOf(question: Pick<Notice, 'call' | 'approval' | 'together'>): Notice {
  return { messageId: '', kind: 'requested', nth: 0, at: '', recipient: null, ...question };
}

/** Identifies the state that a copy shows: a copy with another value is outdated. */
export function stateShown({ call, approval }: Pick<Notice, 'call' | 'approval'>): string {
  if (approval === null) return call.state;
  const digest = approval.shownDigest.slice('sha256:'.length, 'sha256:'.length + 16);
  const shown = `${approval.state}:${outcomeShown(call, approval)}:${String(approval.responses.length)}:${digest}`;
  return `${shown}${saidShown(approval)}`;
}

/** Reason and description may be added after the approval was requested, each once. */
function saidShown({ reason, description }: Pick<ApprovalView, 'reason' | 'description'>): string {
  return `${reason === null ? '' : ':reason'}${description === null ? '' : ':description'}`;
}

function outcomeShown(call: ToolCallView, approval: ApprovalView): string {
  const isCurrent = approval.approvalId === call.approval?.approvalId;
  if (!isCurrent || approval.state === 'pending') return '-';
  // The claim and its renewals are no news for people.
  return call.state === 'executing' ? 'approved' : call.state;
}
