import type { EventView } from '@countersign/contracts';
import { printable } from '../text/printable.js';
import { timeWords } from '../text/time-words.js';
import { compactJson } from './approval-summary.js';

const textMax = 300;

/** Reads one member of an event's data as printable text: a newer server may have left it out or made it something else. */
type Read = (name: string) => string;

function reader(data: unknown): Read {
  return (name) => {
    const value = memberOf(data, name);
    if (value === undefined || value === null) return '';
    return typeof value === 'string' ? printable(value, { charactersMax: textMax }) : compactJson(value, textMax);
  };
}

function memberOf(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, name)) return undefined;
  return (data as Readonly<Record<string, unknown>>)[name];
}

function withWhy(words: string, why: string): string {
  return why === '' ? words : `${words}: ${why}`;
}

type Words = (read: Read, data: unknown) => string;

const words: Readonly<Record<string, Words>> = {
  ToolCallRequested: (read) => `${read('agentId')} wants ${read('toolName')} ${read('arguments')}`,
  ToolCallAllowed: (_, data) => `allowed by rule ${reader(memberOf(data, 'verdict'))('ruleId')}`,
  ToolCallBlocked: (read, data) =>
    withWhy(`blocked by rule ${reader(memberOf(data, 'verdict'))('ruleId')}`, read('reason')),
  ApprovalRequested: (read) =>
    `people are asked${read('expiresAt') === '' ? '' : ` until ${timeWords(read('expiresAt'))}`} (${read('approvalId')})`,
  ApprovalDescribed: (read) => withWhy(`${read('describedBy')} adds`, read('reason') || read('description')),
  ApprovalResponded: respondedWords,
  ResponseWithdrawn: (read) => `${read('withdrawnBy')} took the answer back`,
  ApprovalExpired: () => 'nobody answered in time: counts as no',
  ApprovalEscalated: (read) => `escalated to ${read('to')} (level ${read('level')})`,
  ApproversReminded: (read) => `approvers reminded (${read('nth')}.)`,
  ApprovalLapsed: () => 'approved, but not executed in time: may no longer run',
  ToolCallCancelled: (read) => withWhy(`cancelled by ${read('cancelledBy')}`, read('reason')),
  ExecutionClaimed: (read) => `${read('resolverId')} executes it (attempt ${read('attempt')})`,
  ExecutionClaimRenewed: (read) => `attempt ${read('attempt')} goes on`,
  ExecutionSucceeded: (read) => `output ${read('output')}`,
  ExecutionFailed: (read) => `error ${read('error')}`,
  ExecutionLapsed: (read) => `attempt ${read('attempt')} reported nothing: may be tried again`,
  ExecutionOutcomeUnknown: (read) => withWhy('nobody knows whether it ran; a person reconciles', read('reason')),
  NotificationDelivered: (read) => `${read('kind')}: sent to ${toWhom(read)}`,
  NotificationUpdated: (read) => `${read('kind')}: the copy in ${read('channelId')} now shows how it stands`,
  NotificationFailed: (read) => `${read('kind')}: not sent to ${toWhom(read)} (${read('reason')})`,
  NotificationClaimed: (read) => `${read('kind')}: ${read('notifierId')} sends it to ${toWhom(read)}`,
  RequestRefused: (read) => withWhy(`request ${read('requestId')} was refused (${read('code')})`, read('detail')),
  RunCancelled: (read, data) =>
    withWhy(`${read('cancelledBy')} cancelled the run, ${callsWords(memberOf(data, 'callIds'))}`, read('reason')),
  ExecutionReconciled: (read) => withWhy(`${read('reconciledBy')} says: ${read('status')}`, read('note')),
};

/** How many calls were open when it was cancelled; each says by itself whether it still could be. */
function callsWords(callIds: unknown): string {
  const count = Array.isArray(callIds) ? callIds.length : 0;
  return `${String(count)} ${count === 1 ? 'call' : 'calls'} of it open`;
}

function toWhom(read: Read): string {
  const person = read('recipient');
  return person === '' ? read('channelId') : `${read('channelId')} (${person})`;
}

function respondedWords(read: Read, data: unknown): string {
  const decision = memberOf(data, 'decision');
  const kind = reader(decision)('type');
  const given =
    kind === 'edit' ? ` ${reader(decision)('arguments')}` : kind === 'answer' ? ` ${reader(decision)('output')}` : '';
  const who = read('automatic') === 'true' ? 'the policy, by itself' : read('respondedBy');
  const instruction = read('instruction') === '' ? '' : `; instruction: ${read('instruction')}`;
  return `${withWhy(`${who}: ${kind}${given} via ${read('via')}`, read('reason'))}${instruction} → ${read('resolution')}`;
}

/** What an event says, in words. An event of a newer server is shown as it is. */
export function eventWords(event: EventView): string {
  const say = Object.hasOwn(words, event.type) ? words[event.type] : undefined;
  return say === undefined ? compactJson(event.data, textMax) : say(reader(event.data), event.data);
}
