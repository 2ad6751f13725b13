import type { EventView, JsonValue } from '@countersign/contracts';
import type { EventWords, ReadMember } from '@countersign/text';
import { eventWordsOf, printable, responderRead, withLateness, withWhy } from '@countersign/text';
import { glanceOf } from './json-tree.js';
import { localTimeWords } from './local-time.js';
import { channelWords, saidWords } from './words.js';

const textMax = 300;

/** The event texts of the inbox. The values are shown elsewhere on the page. */
const own: EventWords = {
  ToolCallRequested: (read) => `${read('agentId')} wants ${read('toolName')}`,
  ApprovalRequested: (read) =>
    `people are asked by rule ${read('verdict', 'ruleId')}${read('expiresAt') === '' ? '' : `, until ${localTimeWords(read('expiresAt'))}`}`,
  ApprovalResponded: respondedWords,
  ExecutionSucceeded: (read) => withLateness('it ran', read),
  ExecutionFailed: (read) => withLateness('it failed', read),
  RequestRefused: (read) => withWhy(`a request was refused (${read('code')})`, read('detail')),
  NotificationDelivered: (read) => `${messageWords(read)}sent to ${addressWords(read)}`,
  NotificationUpdated: (read) => `brought up to date at ${addressWords(read)}`,
  NotificationFailed: (read) =>
    read('nextAttemptAt') === ''
      ? `${messageWords(read)}to ${addressWords(read)} could not be delivered: ${read('reason')}`
      : `${withWhy(`${messageWords(read)}${addressWords(read)} failed`, read('reason'))}; it will be retried`,
};

/** The channel, and the recipient if it has one copy per recipient. */
function addressWords(read: ReadMember): string {
  const channel = channelWords(read('channelId'));
  const recipient = read('recipient');
  return recipient === '' ? channel : `${recipient} by ${channel}`;
}

/** The first message about a question needs no name. */
function messageWords(read: ReadMember): string {
  const kind = read('kind');
  return kind === 'requested' ? '' : `“${kind}” `;
}

const given: Readonly<Record<string, string>> = saidWords;

function respondedWords(read: ReadMember): string {
  const who = read('automatic') === 'true' ? 'the policy, by itself,' : responderRead(read);
  const kind = read('decision', 'type');
  const instruction = read('instruction') === '' ? '' : `; instruction: ${read('instruction')}`;
  const end = read('resolution') === 'pending' ? '; more people must answer' : '';
  const words = `${who} ${given[kind] ?? kind} via ${channelWords(read('via'))}`;
  return `${withWhy(words, read('reason'))}${instruction}${end}`;
}

/** Describes an event in words. An unknown type of a newer server is shown as recorded. */
export function eventWords(event: EventView): string {
  const show = (value: unknown): string =>
    printable(typeof value === 'string' ? value : glanceOf(value as JsonValue), textMax);
  return eventWordsOf(event, own, show) ?? printable(glanceOf(event.data, textMax));
}
