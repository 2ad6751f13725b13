// The pieces of the card and of the list, as the inbox uses them. They may change with any version.
export { Arguments } from '../card/arguments.js';
export { ArgumentsChange } from '../card/arguments-change.js';
export { ApprovalPane } from '../card/approval-pane.js';
export { Part, SeenParts, Unseen, useSeen } from '../card/seen.js';
export { callEventTypes, deliveryTypes, executionTypes } from '../client/event-types.js';
export { listApprovals, readApproval, readCall, respondInBulk } from '../client/approvals.js';
export type { Account, ApprovalPage, BulkResult, Remarks, Wanted } from '../client/approvals.js';
export type {
  ApprovalsClient,
  Connection,
  EventFeed,
  Method,
  Sent,
  StreamListener,
  StreamOptions,
} from '../client/approvals-client.js';
export { ProblemError, UnreachableError, isPassing, problemOf } from '../client/problem.js';
export type { Problem } from '../client/problem.js';
export { createPendingStore } from '../live/pending-store.js';
export type { FollowingClient, PendingState, PendingStore } from '../live/pending-store.js';
export { OutboxContext, createOutbox, useOutbox, useOutboxState } from '../live/outbox.js';
export type { HeldDecision, MissedDecision, Outbox } from '../live/outbox.js';
export { SurroundingsContext } from '../live/surroundings.js';
export type { Surroundings } from '../live/surroundings.js';
export { AccountContext, useAccount } from '../live/use-account.js';
export { ClientContext } from '../live/use-client.js';
export { useLoaded } from '../live/use-loaded.js';
export type { Loaded } from '../live/use-loaded.js';
export { useNews } from '../live/use-news.js';
export { useNow } from '../live/use-now.js';
export { PendingContext, usePending, usePendingStore } from '../live/use-pending.js';
export { useShortcuts } from '../live/use-shortcuts.js';
export { eventWords } from '../text/event-words.js';
export { matchWords, scopeWords, spanWords, spans } from '../text/grant-words.js';
export { glanceOf, isObject, summaryOf } from '../text/json-tree.js';
export { localTimeWords } from '../text/local-time.js';
export { channelWords, countWords, problemWords } from '../text/words.js';
export { RiskBadge, StateBadge } from '../ui/badges.js';
export { CopyButton } from '../ui/copy-button.js';
export { Dialog } from '../ui/dialog.js';
export { HoldButton } from '../ui/hold-button.js';
export { Marked, Name } from '../ui/marked.js';
export { Outcome } from '../ui/outcome.js';
export { onPress } from '../ui/press.js';
export { Age, Ago, ClockTime, Countdown, In } from '../ui/time.js';
export { Toasts, useToast } from '../ui/toast.js';
