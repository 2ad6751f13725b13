import type { ApprovalView } from '@countersign/contracts';
import { byRisk, stepOf, together } from '@countersign/text';
import { changeLines } from '../view/argument-lines.js';
import { goneWords } from '../view/response-words.js';
import { createForm } from './form.js';
import { pressKey } from './inbox-keys.js';
import type { InboxState, Message, Step } from './inbox-state.js';
import { selectedOf } from './inbox-state.js';

const restoredWords =
  'The server was restored from a backup. The list was read again: decisions since the backup may be missing.';

/** The whole behaviour of the inbox: pure, so that every key and every race can be tested without a terminal. */
export function reduceInbox(state: InboxState, message: Message): Step {
  switch (message.type) {
    case 'key':
      return pressKey(state, message);
    case 'loaded':
      return { state: loaded(state, message) };
    case 'changed':
      return { state: changed(state, message.approval, message.nowMs) };
    case 'sent':
      return { state: sent(state, message.approval, message.words) };
    case 'refused':
      return { state: refused(state, message) };
    case 'edited':
      return { state: edited(state, message) };
    case 'edit-failed':
      return { state: editFailed(state, message) };
    case 'connection':
      return { state: { ...state, connection: message.connection } };
    case 'restored':
      return { state: { ...state, notice: { text: restoredWords, tone: 'yellow' } } };
  }
}

function loaded(state: InboxState, { approvals, hasMore }: Extract<Message, { type: 'loaded' }>): InboxState {
  const next = withApprovals(state, arranged(approvals), hasMore);
  const isTaken = isReplaced(state, next) && state.sendingId === undefined;
  return isTaken ? interrupted(next, 'It no longer waits for an answer.') : lookedAgain(state, next);
}

/** Returns whether the keys have another approval before them, or none where one was open or chosen. */
function isReplaced({ view, selectedId }: InboxState, next: InboxState): boolean {
  if (view.kind !== 'list') return next.view.kind === 'list';
  return selectedId !== undefined && next.selectedId !== selectedId;
}

/**
 * Interrupts when the approval on the screen is another one than before. From a form it goes back to the card, so that
 * no person approves arguments that they have not seen.
 */
function lookedAgain(state: InboxState, next: InboxState): InboxState {
  const { view, sendingId } = state;
  const seen = view.kind === 'form' ? view.form.approval : selectedOf(state);
  const now = selectedOf(next);
  if (now === undefined || seen?.approvalId !== now.approvalId || sendingId === now.approvalId) return next;
  const words = changeWords(seen, now);
  if (words === undefined) return next;
  return interrupted({ ...next, view: view.kind === 'list' ? view : { kind: 'card', scroll: 0 } }, words);
}

/** What has changed of all that an approval agrees to; undefined: nothing. */
function changeWords(seen: ApprovalView, now: ApprovalView): string | undefined {
  if (seen.shownDigest !== now.shownDigest) return 'Another approver has just changed it: look again.';
  // Without such a digest the call is decided alone.
  const isOfStep = [seen, now].every(({ shownOthersDigest }) => shownOthersDigest !== undefined);
  if (!isOfStep || seen.shownOthersDigest === now.shownOthersDigest) return undefined;
  return 'Another call of its step has just changed, and to approve this one may release it: look at the whole step.';
}

function withApprovals(state: InboxState, approvals: readonly ApprovalView[], hasMore: boolean): InboxState {
  const stillThere = approvals.some(({ approvalId }) => approvalId === state.selectedId);
  if (stillThere) return { ...state, approvals, hasMore };
  // The next approval takes the place of the removed one, so the position on the screen stays.
  const place = Math.max(
    0,
    state.approvals.findIndex(({ approvalId }) => approvalId === state.selectedId),
  );
  const next = approvals[Math.min(place, approvals.length - 1)];
  return { ...state, approvals, hasMore, selectedId: next?.approvalId, view: { kind: 'list' } };
}

function changed(state: InboxState, approval: ApprovalView, nowMs: number): InboxState {
  const known = state.approvals.find(({ approvalId }) => approvalId === approval.approvalId);
  if (approval.state === 'pending') return pendingChanged(state, known, approval);
  if (known === undefined) return state;
  const left = state.approvals.filter((one) => one !== known);
  const isMine = state.sendingId === approval.approvalId;
  const next = withApprovals(state, left, state.hasMore);
  return isReplaced(state, next) && !isMine ? interrupted(next, goneWords(approval, nowMs)) : next;
}

function pendingChanged(state: InboxState, known: ApprovalView | undefined, approval: ApprovalView): InboxState {
  if (known === undefined) {
    // When more approvals are pending than loaded, a new one may sort after those. It is loaded later.
    const isLater = state.hasMore && !state.approvals.some((one) => byRisk(approval, one) < 0);
    return isLater ? state : withApprovals(state, arranged([...state.approvals, approval]), state.hasMore);
  }
  const approvals = state.approvals.map((one) => (one === known ? approval : one));
  return lookedAgain(state, { ...state, approvals });
}

function refused(state: InboxState, { approvalId, words }: Extract<Message, { type: 'refused' }>): InboxState {
  const next: InboxState = { ...state, sendingId: undefined, notice: { text: words, tone: 'yellow' } };
  return state.selectedId === approvalId ? next : { ...next, isInterrupted: true };
}

function interrupted(state: InboxState, words: string): InboxState {
  return { ...state, isInterrupted: true, notice: { text: `${words} Enter goes on.`, tone: 'yellow' } };
}

/** The order of the web inbox. */
function arranged(approvals: readonly ApprovalView[]): readonly ApprovalView[] {
  return [...together(approvals.toSorted(byRisk), stepOf).values()].flat();
}

function sent(state: InboxState, approval: ApprovalView, words: string): InboxState {
  const notice = { text: words, tone: 'green' } as const;
  const approvals =
    approval.state === 'pending'
      ? state.approvals.map((one) => (one.approvalId === approval.approvalId ? approval : one))
      : state.approvals.filter(({ approvalId }) => approvalId !== approval.approvalId);
  const next = withApprovals(state, approvals, state.hasMore);
  return { ...next, view: { kind: 'list' }, sendingId: undefined, draft: undefined, notice };
}

function editFailed(
  state: InboxState,
  { approvalId, text, words }: Extract<Message, { type: 'edit-failed' }>,
): InboxState {
  // The editor was closed without a change: return to the card with an explanation.
  if (text === undefined) return { ...state, notice: { text: words, tone: 'red' } };
  return { ...state, draft: { approvalId, text }, notice: { text: `${words} Press e to go on editing.`, tone: 'red' } };
}

function edited(state: InboxState, message: Extract<Message, { type: 'edited' }>): InboxState {
  const { approval, value, text } = message;
  const now = state.approvals.find(({ approvalId }) => approvalId === approval.approvalId);
  if (now === undefined) return interrupted(state, 'While you were editing, this was answered. Nothing was sent.');
  const draft = { approvalId: approval.approvalId, text };
  const words = changeWords(approval, now);
  if (words !== undefined) {
    const view = { kind: 'card', scroll: 0 } as const;
    return interrupted({ ...state, draft, selectedId: now.approvalId, view }, `${words} Your text is kept.`);
  }
  if (changeLines(approval.arguments, value, 80).length === 0) {
    return { ...state, notice: { text: 'The arguments are as they were: nothing to send.', tone: 'yellow' } };
  }
  const form = createForm('edit', approval, { value, text });
  return {
    ...state,
    draft,
    notice: undefined,
    selectedId: approval.approvalId,
    view: { kind: 'form', scroll: 0, form },
  };
}
