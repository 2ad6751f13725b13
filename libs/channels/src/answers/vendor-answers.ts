import { mailAnswers } from './mail-answers.js';
import type { MailStep } from './mail-answers.js';
import type { Meaning } from './meaning.js';
import { slackAnswers } from './slack-answers.js';
import { teamsAnswers } from './teams-answers.js';
import { telegramAnswers } from './telegram-answers.js';

/** What the other side answered to a message. */
export type VendorAnswer =
  | { readonly channel: 'telegram'; readonly status: number; readonly text: string }
  | { readonly channel: 'slack'; readonly error: string }
  /** The code of an error of the Bot Connector; empty: it has none. */
  | { readonly channel: 'teams'; readonly status: number; readonly code: string }
  | { readonly channel: 'email'; readonly at: MailStep; readonly reply: string }
  /** The status of an HTTP response, where it is all that is known. */
  | { readonly channel: 'slack' | 'webhook'; readonly status: number };

/**
 * Returns what an answer is about. A refusal is final (`message`, `recipient`) only where the table lists it by name: every
 * other refusal concerns the channel, is seen, and is retried.
 */
export function meaningOf(answer: VendorAnswer): Meaning {
  if ('error' in answer) return listed(slackAnswers, (code) => code === answer.error) ?? 'channel';
  if (answer.channel === 'teams') return meaningInTeams(answer.status, answer.code);
  if (answer.channel === 'telegram') return meaningInTelegram(answer.status, answer.text.toLowerCase());
  if (answer.channel === 'email') return meaningOfReply(answer.at, answer.reply);
  return meaningOfStatus(answer.status, answer.channel);
}

type Table = Readonly<Partial<Record<Meaning, readonly string[]>>>;

function listed(table: Table, isIt: (part: string) => boolean): Meaning | undefined {
  return (Object.keys(table) as Meaning[]).find((meaning) => table[meaning]?.some(isIt));
}

function meaningInTelegram(status: number, text: string): Meaning {
  if (status === 400) return listed(telegramAnswers, (part) => text.includes(part)) ?? 'channel';
  if (status === 403) return 'address';
  if (status === 413) return 'message';
  return isForLater(status) ? 'retry' : 'channel';
}

function meaningInTeams(status: number, code: string): Meaning {
  if (status === 413) return 'message';
  const isRetried = isForLater(status) || status === 412;
  return listed(teamsAnswers, (one) => one === code) ?? (isRetried ? 'retry' : 'channel');
}

/** 410 switches a webhook off. Nothing else that an HTTP status says is final. */
function meaningOfStatus(status: number, channel: 'slack' | 'webhook'): Meaning {
  if (status >= 200 && status < 300) return 'done';
  if (status === 410 && channel === 'webhook') return 'off';
  return isForLater(status) ? 'retry' : 'channel';
}

function isForLater(status: number): boolean {
  return status >= 500 || [408, 409, 420, 425, 429].includes(status);
}

/** The enhanced status code follows the code; some servers write it as `(#5.1.1)` at the end. */
const enhanced = /^5\d\d[ -]#?(5\.\d{1,3}\.\d{1,3})(?![.\d])|\(#(5\.\d{1,3}\.\d{1,3})\)/;

/** What stands between the lines of a reply: a sentence may be cut there. */
const nextLine = /\r?\n\d{3}[ -](\d\.\d{1,3}\.\d{1,3} )?/g;

function meaningOfReply(at: MailStep, lines: string): Meaning {
  const reply = lines.replaceAll(nextLine, ' ');
  if (!/^5\d\d/.test(reply)) return 'retry';
  const [, first, last] = enhanced.exec(reply) ?? [];
  const status = first ?? last ?? '';
  const row = mailAnswers.find(
    (one) => one.at.includes(at) && one.status?.test(status) !== false && one.text?.test(reply) !== false,
  );
  return row?.means ?? 'channel';
}
