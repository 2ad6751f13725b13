import type { ApprovalView, NotificationKind, ToolCallView } from '@countersign/contracts';
import type { Person } from './config/channels-file.js';

/** What is to be told. The views are masked: no channel ever sees the value of a sensitive field. */
export interface Notice {
  /** The same for a repeat of the same message, so that a receiver can drop it. */
  readonly messageId: string;
  readonly kind: NotificationKind;
  /** 1 for the first reminder; 0 for every other kind. */
  readonly nth: number;
  readonly call: ToolCallView;
  /** Null for a call that nobody was asked about. */
  readonly approval: ApprovalView | null;
  /** When it happened: RFC 3339. */
  readonly at: string;
  /** Whom a personal channel writes to. */
  readonly recipient: Person | null;
}

/**
 * What became of a message. `failed`: it may work later; `refused`: this message never will, others may; `off`: the
 * other side wants no message of ours any more. Reasons name no secret.
 */
export type SendResult =
  | { readonly status: 'delivered'; readonly messageRef: string | null }
  | { readonly status: 'failed'; readonly reason: string; readonly retryAfterMs?: number }
  | { readonly status: 'refused' | 'off'; readonly reason: string };

/** Sending is bounded in time by the channel itself; the signal gives up earlier. */
export interface SendOptions {
  readonly signal: AbortSignal;
  /** The copy of the question that an outcome belongs to, where there is one. */
  readonly inReplyTo?: string;
}

/**
 * One way to people. Equal to the others, and trusted with nothing: what it shows is masked, what comes back is checked.
 *
 * MUST for every adapter (the contract suite proves it): a repeated send is harmless; what is hostile to its format is
 * shown as text; `send` and `update` never throw and end within 15 s.
 */
export interface Channel {
  readonly id: string;
  readonly type: 'slack' | 'telegram' | 'email' | 'webhook';
  /** `personal`: one message a person; `shared`: one for everybody. */
  readonly addressing: 'shared' | 'personal';
  /** Names the address of the other side where that can switch the channel off; it tells nothing of it. */
  readonly endpoint?: string;
  /** What comes within so many milliseconds goes out as one message; 0: each on its own. */
  readonly gatherMs: number;
  /** Whether how it ended is told below the copy of the question, without a route that asks for it. */
  readonly tellsOutcomeBelow: boolean;
  /** Sends one message: of one notice, or of all that were gathered for one recipient. */
  readonly send: (notices: readonly [Notice, ...Notice[]], options: SendOptions) => Promise<SendResult>;
  /** Changes a copy to what is true now. Absent where what was sent cannot be changed. */
  readonly update?: (messageRef: string, notice: Notice, options: SendOptions) => Promise<SendResult>;
}

/** What any copy of a question shows now, for one that nobody remembers having sent. */
export function copyOf(question: Pick<Notice, 'call' | 'approval'>): Notice {
  return { messageId: '', kind: 'requested', nth: 0, at: '', recipient: null, ...question };
}

/** Names the state that a copy shows: a copy with another one is outdated. */
export function stateShown({ call, approval }: Pick<Notice, 'call' | 'approval'>): string {
  if (approval === null) return call.state;
  const digest = approval.actionDigest.slice('sha256:'.length, 'sha256:'.length + 16);
  const shown = `${approval.state}:${outcomeShown(call, approval)}:${String(approval.responses.length)}:${digest}`;
  return `${shown}${saidShown(approval)}`;
}

/** Why, and what for, may be said after people were asked: each of them once. */
function saidShown({ reason, description }: Pick<ApprovalView, 'reason' | 'description'>): string {
  return `${reason === null ? '' : ':reason'}${description === null ? '' : ':description'}`;
}

function outcomeShown(call: ToolCallView, approval: ApprovalView): string {
  const isCurrent = approval.approvalId === call.approval?.approvalId;
  if (!isCurrent || approval.state === 'pending') return '-';
  // The claim and its renewals are no news for people.
  return call.state === 'executing' ? 'approved' : call.state;
}
