import type { EventView, JsonValue } from '@countersign/contracts';
import { glanceOf } from './json-tree.js';
import { printable } from './marks.js';
import { timeWords } from './time-words.js';
import { channelWords } from './words.js';

/** Reads one member of an event's data: a newer server may have left it out or made it something else. */
type Read = (...path: string[]) => string;

function reader(data: unknown): Read {
  return (...path) => {
    const value = path.reduce<unknown>((node, name) => memberOf(node, name), data);
    if (value === undefined || value === null) return '';
    return printable(typeof value === 'string' ? value : glanceOf(value as JsonValue), 300);
  };
}

function memberOf(data: unknown, name: string): unknown {
  if (typeof data !== 'object' || data === null || !Object.hasOwn(data, name)) return undefined;
  return (data as Readonly<Record<string, unknown>>)[name];
}

function withWhy(words: string, why: string): string {
  return why === '' ? words : `${words}: ${why}`;
}

const words: Readonly<Record<string, (read: Read) => string>> = {
  ToolCallRequested: (read) => `${read('agentId')} wants ${read('toolName')}`,
  ToolCallAllowed: (read) => `allowed by rule ${read('verdict', 'ruleId')}`,
  ToolCallBlocked: (read) => withWhy(`blocked by rule ${read('verdict', 'ruleId')}`, read('reason')),
  ApprovalRequested: (read) =>
    `people are asked by rule ${read('verdict', 'ruleId')}${read('expiresAt') === '' ? '' : `, until ${timeWords(read('expiresAt'))}`}`,
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
  ExecutionSucceeded: () => 'it ran',
  ExecutionFailed: () => 'it failed',
  ExecutionLapsed: (read) => `attempt ${read('attempt')} reported nothing: may be tried again`,
  ExecutionOutcomeUnknown: (read) => withWhy('nobody knows whether it ran; a person reconciles', read('reason')),
  ExecutionReconciled: (read) => withWhy(`${read('reconciledBy')} says: ${read('status')}`, read('note')),
  RequestRefused: (read) => withWhy(`a request was refused (${read('code')})`, read('detail')),
  RunCancelled: (read) => withWhy(`${read('cancelledBy')} cancelled the whole run`, read('reason')),
  NotificationDelivered: (read) => `${messageWords(read)}sent to ${addressWords(read)}`,
  NotificationUpdated: (read) => `brought up to date at ${addressWords(read)}`,
  NotificationFailed: (read) =>
    `${withWhy(`${messageWords(read)}${addressWords(read)} failed`, read('reason'))}${read('nextAttemptAt') === '' ? '; given up' : '; it is tried again'}`,
};

/** Which channel; and who, where it has a copy for each. */
function addressWords(read: Read): string {
  const channel = channelWords(read('channelId'));
  const recipient = read('recipient');
  return recipient === '' ? channel : `${recipient} by ${channel}`;
}

/** The first message about a question needs no name. */
function messageWords(read: Read): string {
  const kind = read('kind');
  return kind === 'requested' ? '' : `“${kind}” `;
}

const given: Readonly<Record<string, string>> = {
  approve: 'approved',
  edit: 'approved with other arguments',
  deny: 'denied',
  answer: 'answered in its place',
};

function respondedWords(read: Read): string {
  const who = read('automatic') === 'true' ? 'the policy, by itself,' : read('respondedBy');
  const kind = read('decision', 'type');
  const instruction = read('instruction') === '' ? '' : `; instruction: ${read('instruction')}`;
  const end = read('resolution') === 'pending' ? '; more people must answer' : '';
  const words = `${who} ${given[kind] ?? kind} via ${channelWords(read('via'))}`;
  return `${withWhy(words, read('reason'))}${instruction}${end}`;
}

/** What an event says, in words. An event of a newer server is shown as it is. */
export function eventWords(event: EventView): string {
  const say = Object.hasOwn(words, event.type) ? words[event.type] : undefined;
  return say === undefined ? printable(glanceOf(event.data, 300)) : say(reader(event.data));
}
