import type { Meaning } from './meaning.js';

/** The command that a mail server answers. `connect`: everything before a sign-in. */
export type MailStep = 'connect' | 'AUTH' | 'MAIL' | 'RCPT' | 'DATA';

/** A permanent answer (5xx) of a mail server. The first row that fits decides; without one, the answer concerns the channel. */
export interface MailRow {
  readonly at: readonly MailStep[];
  /** The enhanced status code (RFC 3463). */
  readonly status?: RegExp;
  readonly text?: RegExp;
  readonly means: Meaning;
}

const envelope: readonly MailStep[] = ['RCPT', 'DATA'];
const sent: readonly MailStep[] = ['MAIL', 'RCPT', 'DATA'];

/**
 * The order matters: servers check the sender, its limits and the right to relay at `RCPT` too, with texts that name the
 * recipient, an account or a quota.
 */
export const mailAnswers: readonly MailRow[] = [
  { at: ['connect', 'AUTH'], means: 'channel' },
  { at: sent, status: /^5\.(3\.4|2\.3)$/, means: 'message' },
  {
    at: sent,
    text: /\b(sending|outgoing|outbound|daily|hourly)\b.*\b(quota|limit)|\b(quota|limit)\b.*\b(outgoing|outbound)\b|\brate limit|\bper (second|minute|hour|day)\b/i,
    means: 'channel',
  },
  {
    at: ['MAIL', 'DATA'],
    text: /\btoo (big|large|long)\b|\bsize\b.*\bexceed|\bexceed.*\bsize\b|\btoo much (mail )?data\b/i,
    means: 'message',
  },
  {
    at: ['RCPT'],
    text: /\bmessage (is )?too (big|large)\b|\bmessage size\b.*\bexceed|\bexceed.*\bmessage size\b/i,
    means: 'recipient',
  },
  { at: ['MAIL'], means: 'channel' },
  {
    at: envelope,
    text: /\bsender\b|send ?as|not owned by user|\bfrom address\b|\breturn[- ]path\b/i,
    means: 'channel',
  },
  {
    at: envelope,
    text: /\brelay(ing)?( access)?( is)? (denied|not permitted|not allowed|prohibited)|(unable|not allowed) to relay|not relay\b|no relaying|allowed rcpthosts/i,
    means: 'channel',
  },
  {
    at: envelope,
    text: /\byour (ip|host|server|domain|account|mailbox|client|network|mail ?server)\b|\bauthenticat|must (first )?log ?in/i,
    means: 'channel',
  },
  { at: ['DATA'], status: /^5\.6\./, means: 'message' },
  {
    at: ['DATA'],
    text: /\b(virus|malware)\b(?! (scan|filter|check))|content presents a potential security/i,
    means: 'message',
  },
  { at: envelope, status: /^5\.(1\.([012346]|10)|2\.[124]|4\.(4|310)|6\.7)$/, means: 'recipient' },
  { at: ['RCPT'], text: /recipient address rejected: need fully-qualified/i, means: 'recipient' },
  { at: envelope, status: /^5\.([167]\.|5\.[^0])/, means: 'channel' },
  { at: envelope, text: /\bexceeded storage allocation\b/i, means: 'recipient' },
  // Without a status that says more: words about the one who sends, which the rows below would take for the recipient.
  {
    at: ['RCPT'],
    text: /\b(ip|ptr|r?dns|helo|ehlo|certificate|sending|outgoing|outbound|too many)\b|\brelay(?!\w* recipient table)/i,
    means: 'channel',
  },
  {
    at: ['RCPT'],
    text: /recipient address rejected|\b(user|mailbox|recipient|account|address)\b.*\b(unknown|not found|not exist|unavailable|disabled|inactive|full|not local|name not allowed)\b/i,
    means: 'recipient',
  },
  {
    at: ['RCPT'],
    text: /\bunknown (user|mailbox|recipient|account|address)|\b(no such|invalid) (\w+ )?(user|mailbox|recipient|account|address)|no mailbox here|\bunrouteable address|\bquota\b|doesn't have an? \S+ account|\b(user|mailbox|recipient|account|address) doesn't exist\b/i,
    means: 'recipient',
  },
  // The code of RFC 7504 for a domain that accepts no mail.
  { at: ['RCPT'], text: /^556\b/, means: 'recipient' },
];
