import type { ApprovalView, DecisionType, Requirement, ResponseView } from '@countersign/contracts';
import type { Problem } from '../api/problem.js';
import { agoWords } from './time-words.js';
import { printable } from './marks.js';

/** Who must agree, in words: `2 approvers of ops, then 1 approver of security; not the requester`. */
export function requirementWords(requirement: Requirement): string {
  const stages = requirement.stages.map((stage) => {
    const groups = stage.groups?.map((group) => printable(group)) ?? [];
    if (stage.mode === 'all-of') return `one of each: ${groups.join(', ')}`;
    const people = stage.approve === 1 ? '1 approver' : `${stage.approve} approvers`;
    return groups.length === 0 ? people : `${people} of ${groups.join(' or ')}`;
  });
  return stages.join(', then ') + (requirement.fourEyes ? '; not the requester' : '');
}

const said = {
  approve: 'approved',
  edit: 'approved with other arguments',
  deny: 'denied',
  answer: 'answered in its place',
} as const satisfies Record<DecisionType, string>;

/** One person's answer, in words: `bob approved this 3 s ago via Slack`. */
export function responseWords(response: ResponseView, nowMs: number): string {
  const { respondedBy, decision, respondedAt, via } = response;
  return `${printable(respondedBy)} ${said[decision.type]} this ${agoWords(respondedAt, nowMs)} via ${channelWords(via)}`;
}

const channels: Readonly<Record<string, string>> = {
  api: 'the API',
  cli: 'the command line',
  inbox: 'the inbox',
  slack: 'Slack',
  telegram: 'Telegram',
  email: 'email',
};

/** A channel as people call it; one of the operator's own names stays as it is. */
export function channelWords(via: string): string {
  return Object.hasOwn(channels, via) ? (channels[via] ?? via) : printable(via);
}

const done = {
  approve: 'Approved',
  edit: 'Approved with your arguments',
  deny: 'Denied',
  answer: 'Answered in its place',
} as const satisfies Record<DecisionType, string>;

/** What came of an answer that was recorded, or who is still waited for. */
export function sentWords(type: DecisionType, approval: ApprovalView): string {
  const tool = printable(approval.toolName, 80);
  if (approval.state !== 'pending') return `${done[type]}: ${tool}`;
  return `Your answer to ${tool} is recorded (${approval.responses.length} so far). More people must answer.`;
}

/** How an approval ended, for whoever looks at it: `bob approved this 3 s ago via Slack.` */
export function endedWords(approval: ApprovalView, nowMs: number): string {
  const last = approval.responses.at(-1);
  const when = approval.resolvedAt === null ? '' : ` ${agoWords(approval.resolvedAt, nowMs)}`;
  switch (approval.state) {
    case 'approved':
    case 'denied':
      return last === undefined ? `This was ${approval.state}${when}.` : `${responseWords(last, nowMs)}.`;
    case 'expired':
      return `Its deadline was over${when}: no answer in time counts as no.`;
    case 'cancelled':
      return `The call was cancelled${when}.`;
    case 'pending':
      return 'It waits for an answer.';
  }
}

/**
 * A refusal in words for people. Being second is no fault of theirs, so it is told kindly: who was first, when and
 * through which channel.
 */
export function problemWords(problem: Problem, nowMs: number): string {
  switch (problem.code) {
    case 'already-resolved':
      return resolvedWords(problem, nowMs);
    case 'expired':
      return `The deadline was over${ago(problem['expiredAt'], nowMs)}: no answer in time counts as no.`;
    case 'own-request':
      return 'This was requested by you: it needs another pair of eyes.';
    case 'already-voted':
      return 'You have already answered this. You can take your answer back while it is pending.';
    case 'digest-mismatch':
      return 'The arguments have changed since: look again before you answer. Nothing was recorded.';
    case 'reason-required':
      return 'This decision needs a reason. Nothing was recorded.';
    default:
      return printable(problem.detail, 2000) + errorsWords(problem);
  }
}

function resolvedWords(problem: Problem, nowMs: number): string {
  const { respondedBy, respondedAt, resolution, via, cancelledBy, cancelledAt } = problem;
  if (typeof cancelledBy === 'string') {
    return `${printable(cancelledBy)} cancelled this call${ago(cancelledAt, nowMs)}. Nothing is left to answer.`;
  }
  if (typeof respondedBy !== 'string' || typeof resolution !== 'string') return printable(problem.detail, 2000);
  const channel = typeof via === 'string' ? ` via ${channelWords(via)}` : '';
  return `${printable(respondedBy)} ${printable(resolution)} this${ago(respondedAt, nowMs)}${channel}. Nothing is left to answer.`;
}

function ago(time: unknown, nowMs: number): string {
  return typeof time === 'string' ? ` ${agoWords(time, nowMs)}` : '';
}

function errorsWords({ errors = [] }: Problem): string {
  const words = errors.slice(0, 10).map(({ path, message }) => `${printable(path, 200)}: ${printable(message, 200)}`);
  return words.length === 0 ? '' : ` (${words.join('; ')})`;
}
