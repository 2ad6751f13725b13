import { createTransport } from 'nodemailer';
import type { AnswerTokens } from '../answer-token.js';
import { cardOf } from '../card/card.js';
import type { MailStep } from '../answers/mail-answers.js';
import { toSendResult, vendorWords } from '../answers/send-result.js';
import type { Refusal } from '../answers/send-result.js';
import { meaningOf } from '../answers/vendor-answers.js';
import type { Channel, LinkPorts, Notice } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isSameMailbox, locate } from '../place.js';
import type { LabelledPlace } from '../place.js';
import { digestListOf, isDigest } from '../digest-list.js';
import { digestHtml, digestText } from './digest-mail.js';
import { createEmailTokens } from './email-tokens.js';
import { htmlOf, textOf } from './mail-text.js';
import type { MailPart } from './mail-text.js';

const timeoutMs = 10_000;
const charactersMax = 20_000;
const digestLinesMax = 200;
/** Emails are sent within 5 s of their event. */
const gatherMs = 3_000;

/** Mails by SMTP: a text and an HTML part, and a link to a page where the person decides. No mail decides anything. */
export function createEmailChannel(config: ChannelConfigOf<'email'>, { publicUrl }: LinkPorts): Channel {
  const transport = createTransport({
    url: config.smtp.reveal(),
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    // An email's content is text: it cannot make us read a file or fetch an address.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const tokens = createEmailTokens(config);
  const secrets = secretsOf(config);
  const { to } = config;
  return {
    id: config.id,
    type: 'email',
    addressing: 'personal',
    gatherMs,
    tellsOutcomeBelow: false,
    ...(to !== undefined && { mailbox: (notice) => locate(to, notice) }),
    send: async (notices) => {
      const [{ recipient, messageId }] = notices;
      // Of several requests in one mail each is then sent alone, so that each has its own reason.
      if (to !== undefined && !notices.every((notice) => isMailbox(to, notice)))
        return { status: 'refused', about: 'message', reason: whyNobody(to, notices[0]) };
      if (recipient?.email === undefined)
        return { status: 'refused', about: 'recipient', reason: 'the person has no e-mail address' };
      const mail = isDigest(notices)
        ? digestMail(notices, publicUrl)
        : cardsMail(
            notices,
            notices.map((notice): MailPart => ({
              card: cardOf(notice, charactersMax),
              link: linkOf(notice, tokens, publicUrl),
            })),
          );
      try {
        await transport.sendMail({
          from: config.from,
          to: { name: '', address: recipient.email },
          ...mail,
          // The same for a repeat, so that a mail program shows it once.
          messageId: `<${messageId}@countersign>`,
          headers: { 'auto-submitted': 'auto-generated', 'x-auto-response-suppress': 'All' },
        });
        return { status: 'delivered', messageRef: null };
      } catch (error) {
        return toSendResult(refusalOf(error, [...secrets, recipient.email]));
      }
    },
  };
}

/** A mail with several requests goes out only where each of them names this mailbox. */
function isMailbox(to: LabelledPlace, notice: Notice): boolean {
  const located = locate(to, notice);
  return located.status === 'known' && isSameMailbox(located.place, notice.recipient);
}

function whyNobody(to: LabelledPlace, notice: Notice): string {
  const located = locate(to, notice);
  if (located.status === 'nowhere') return located.reason;
  return `not sent: the label "${to.label}" names the mailbox of no person who is asked`;
}

function linkOf({ approval, recipient }: Notice, tokens: AnswerTokens, publicUrl: string | null): string | null {
  if (publicUrl === null || approval?.state !== 'pending') return null;
  const { approvalId, shownDigest } = approval;
  const token = tokens.seal({ action: 'o', approvalId, shownDigest }, recipient?.id);
  return `${publicUrl.replace(/\/+$/, '')}/a/${token}`;
}

interface MailContent {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

function digestMail(notices: readonly Notice[], publicUrl: string | null): MailContent {
  const list = digestListOf(notices, publicUrl, digestLinesMax);
  return { subject: list.headline, text: digestText(list), html: digestHtml(list) };
}

function cardsMail(notices: readonly Notice[], parts: readonly MailPart[]): MailContent {
  return { subject: subjectOf(notices, parts), text: textOf(parts), html: htmlOf(parts) };
}

/** One line; control characters are already marks. */
function subjectOf(notices: readonly Notice[], parts: readonly MailPart[]): string {
  const headline = parts[0]?.card.headline ?? 'Countersign';
  return notices.length === 1 ? headline : `${String(notices.length)} approvals are waiting for you`;
}

/** The connection string, and the password in it, as it is written there and as `AUTH LOGIN` and `AUTH PLAIN` send it. */
function secretsOf({ smtp }: ChannelConfigOf<'email'>): readonly string[] {
  const { username, password } = new URL(smtp.reveal());
  const [user, secret] = [decoded(username), decoded(password)];
  return [smtp.reveal(), password, secret, `\0${user}\0${secret}`];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface MailError {
  readonly code?: unknown;
  readonly originalCode?: unknown;
  readonly command?: unknown;
  readonly response?: unknown;
}

/** `secrets`: what the words of the server must not repeat in the log. */
function refusalOf(error: unknown, secrets: readonly (string | undefined)[]): Refusal {
  const { code, originalCode, command, response } = error as MailError;
  if (typeof response === 'string') {
    const at = stepOf(code, command);
    const reason = `the mail server answers ${vendorWords(response, secrets)}`;
    return { means: meaningOf({ channel: 'email', at, reply: response }), reason, isOfOneRecipient: at === 'RCPT' };
  }
  // The server named its limit before the message was sent.
  if (code === 'EMESSAGE') return { means: 'message', reason: 'the mail is larger than the mail server accepts' };
  const codes = [code, originalCode].filter((one) => typeof one === 'string').join(' ');
  return { means: 'retry', reason: `the mail server cannot be used (${codes === '' ? 'unknown' : codes})` };
}

function stepOf(code: unknown, command: unknown): MailStep {
  const step = /^(AUTH|MAIL|RCPT|DATA)\b/.exec(String(command))?.[0] as MailStep | undefined;
  return code === 'EAUTH' ? 'AUTH' : (step ?? 'connect');
}
