import type { EventView } from '@countersign/contracts';
import type { EventWords, ReadMember } from '@countersign/text';
import { eventWordsOf, printable, responderRead, timeWords, withLateness, withWhy } from '@countersign/text';
import { compactJson } from './approval-summary.js';

const textMax = 300;

/** The event texts of the terminal: the shared texts, plus the recorded values. */
const own: EventWords = {
  ToolCallRequested: (read) => `${read('agentId')} wants ${read('toolName')} ${read('arguments')}`,
  ApprovalRequested: (read) =>
    `people are asked${read('expiresAt') === '' ? '' : ` until ${timeWords(read('expiresAt'))}`} (${read('approvalId')})`,
  ApprovalResponded: respondedWords,
  ExecutionSucceeded: (read) => withLateness(`output ${read('output')}`, read),
  ExecutionFailed: (read) => withLateness(`error ${read('error')}`, read),
  NotificationDelivered: (read) => `${read('kind')}: sent to ${toWhom(read)}`,
  NotificationUpdated: (read) => `${read('kind')}: the copy in ${read('channelId')} now shows how it stands`,
  NotificationFailed: (read) =>
    read('nextAttemptAt') === ''
      ? `${read('kind')} to ${toWhom(read)} could not be delivered: ${read('reason')}`
      : `${read('kind')}: not yet sent to ${toWhom(read)} (${read('reason')})`,
  NotificationClaimed: (read) => `${read('kind')}: ${read('notifierId')} sends it to ${toWhom(read)}`,
  RequestRefused: (read) => withWhy(`request ${read('requestId')} was refused (${read('code')})`, read('detail')),
};

function toWhom(read: ReadMember): string {
  const person = read('recipient');
  return person === '' ? read('channelId') : `${read('channelId')} (${person})`;
}

function respondedWords(read: ReadMember): string {
  const kind = read('decision', 'type');
  const given =
    kind === 'edit' ? ` ${read('decision', 'arguments')}` : kind === 'answer' ? ` ${read('decision', 'output')}` : '';
  const who = read('automatic') === 'true' ? 'the policy, by itself' : responderRead(read);
  const instruction = read('instruction') === '' ? '' : `; instruction: ${read('instruction')}`;
  return `${withWhy(`${who}: ${kind}${given} via ${read('via')}`, read('reason'))}${instruction} → ${read('resolution')}`;
}

/** Describes an event in words. An unknown type of a newer server is shown as recorded. */
export function eventWords(event: EventView): string {
  const show = (value: unknown): string =>
    typeof value === 'string' ? printable(value, textMax) : compactJson(value, textMax);
  return eventWordsOf(event, own, show) ?? compactJson(event.data, textMax);
}
