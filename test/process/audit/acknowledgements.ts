import { isDeepStrictEqual } from 'node:util';
import type { Acknowledgement } from '../traffic/journal.js';
import type { CallEvent } from './log.js';
import type { CallHistory, Histories } from './rules.js';

type Kind = Acknowledgement['kind'];
type Check<K extends Kind> = (told: Extract<Acknowledgement, { kind: K }>, history: CallHistory) => string | undefined;

/** Everything that a client received is in the log, and was true. */
export function acknowledgementComplaints(told: readonly Acknowledgement[], histories: Histories): readonly string[] {
  return told.flatMap((one) => {
    const history = histories.get(one.callId);
    const complaint = history === undefined ? 'the call is not in the log' : check(one, history);
    return complaint === undefined ? [] : [`${one.callId}: "${one.kind}" was acknowledged, and ${complaint}`];
  });
}

function check(told: Acknowledgement, history: CallHistory): string | undefined {
  switch (told.kind) {
    case 'requested':
      return requested(told, history);
    case 'shown':
      return shown(told, history);
    case 'approval':
      return approval(told, history);
    case 'responded':
      return responded(told, history);
    case 'asked':
      return asked(told, history);
    case 'cancelled':
      return missing(history, (event) => event.type === 'ToolCallCancelled');
    case 'claimed':
      return claimed(told, history);
    case 'renewed':
      return renewed(told, history);
    case 'reported':
      return reported(told, history);
    case 'reconciled':
      return missing(history, ({ type, data }) => type === 'ExecutionReconciled' && data.status === told.status);
  }
}

function missing({ events }: CallHistory, is: (event: CallEvent) => boolean): string | undefined {
  return events.some(is) ? undefined : 'the log has no such event';
}

const requested: Check<'requested'> = (told, { standings }) => {
  const request = standings[0]?.request;
  const { runId, toolCallId, toolName, arguments: args } = told;
  const isSame =
    request?.runId === runId &&
    request.toolCallId === toolCallId &&
    request.toolName === toolName &&
    isDeepStrictEqual(request.arguments, args);
  return isSame ? undefined : 'the log has another request';
};

/** A state that was shown was the state at that revision, and the log, which only grows, still shows that. */
const shown: Check<'shown'> = ({ revision, state }, { standings }) => {
  const standing = standings[revision];
  if (standing === undefined) return `revision ${revision} is not in the log`;
  return standing.state === state ? undefined : `revision ${revision} was ${standing.state}, not ${state}`;
};

/** Pending may have become anything; an end is the end. */
const approval: Check<'approval'> = ({ approvalId, state }, { events }) => {
  const ends = events.flatMap((event) => endOf(event, approvalId));
  if (!events.some((event) => event.type === 'ApprovalRequested' && event.data.approvalId === approvalId)) {
    return 'the approval is not in the log';
  }
  return state === 'pending' || ends[0] === state ? undefined : `it ended as ${ends[0] ?? 'pending'}, not ${state}`;
};

function endOf(event: CallEvent, approvalId: string): readonly string[] {
  switch (event.type) {
    case 'ApprovalResponded':
      return event.data.approvalId === approvalId && event.data.resolution !== 'pending' ? [event.data.resolution] : [];
    case 'ApprovalExpired':
      return event.data.approvalId === approvalId ? ['expired'] : [];
    case 'ToolCallCancelled':
      return event.data.approvalId === approvalId ? ['cancelled'] : [];
    default:
      return [];
  }
}

const responded: Check<'responded'> = ({ approvalId, decision }, history) =>
  missing(
    history,
    ({ type, data }) =>
      type === 'ApprovalResponded' && data.approvalId === approvalId && data.decision.type === decision,
  );

const asked: Check<'asked'> = ({ approvalId, round }, history) =>
  missing(
    history,
    ({ type, data }) => type === 'ApprovalRequested' && data.approvalId === approvalId && data.round === round,
  );

const claimed: Check<'claimed'> = ({ attempt, resolverId, actionDigest }, history) =>
  missing(
    history,
    ({ type, data }) =>
      type === 'ExecutionClaimed' &&
      data.attempt === attempt &&
      data.resolverId === resolverId &&
      data.actionDigest === actionDigest,
  );

/** An earlier renewal may already have reached further. */
const renewed: Check<'renewed'> = ({ attempt, leaseUntil }, history) =>
  missing(
    history,
    ({ type, data }) => type === 'ExecutionClaimRenewed' && data.attempt === attempt && data.leaseUntil >= leaseUntil,
  );

const reported: Check<'reported'> = ({ attempt, status, result }, history) =>
  missing(history, ({ type, data }) => {
    if (type === 'ExecutionSucceeded' && status === 'succeeded') {
      return data.attempt === attempt && isDeepStrictEqual(data.output, result);
    }
    return type === 'ExecutionFailed' && data.attempt === attempt && isDeepStrictEqual(data.error, result);
  });
