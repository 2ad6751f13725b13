import { printable } from './marks.js';
import { nameWords } from './people-words.js';
import { agoWords } from './time-words.js';

/** Why the server refused (RFC 9457): every member but these two may be missing or something else. */
export interface Refusal {
  readonly code: string;
  readonly detail: string;
  readonly [member: string]: unknown;
}

/** The differences between the places that show a refusal. */
export interface RefusalWording {
  /** A channel as it is called there, printable. */
  readonly channel: (via: string) => string;
  /** Whole sentences by code, such as those that name a command or a button. */
  readonly sentences: Readonly<Record<string, string>>;
}

const detailMax = 2000;

const common: Readonly<Record<string, string>> = {
  'own-request':
    'This request is yours: it was made by you, by your agent or in your name. Another person must answer.',
  'digest-mismatch': 'What is asked has changed since: look again before you answer. Nothing was recorded.',
};

/** Describes a refusal for people. When another person was first, it says who, when and through which channel. */
export function refusalWords(refusal: Refusal, nowMs: number, { channel, sentences }: RefusalWording): string {
  const { code, detail } = refusal;
  if (code === 'already-resolved') return resolvedWords(refusal, nowMs, channel);
  if (code === 'expired') {
    return `The approval expired${ago(refusal['expiredAt'], nowMs)}.`;
  }
  const known = { ...common, ...sentences };
  const sentence = Object.hasOwn(known, code) ? known[code] : undefined;
  if (sentence !== undefined) return sentence;
  const words = printable(detail, detailMax);
  return words + errorsWords(refusal['errors'], words);
}

function resolvedWords(refusal: Refusal, nowMs: number, channel: RefusalWording['channel']): string {
  const { respondedBy, respondedAt, resolution, via, cancelledBy, cancelledAt } = refusal;
  if (typeof cancelledBy === 'string') {
    return `${nameWords(cancelledBy)} cancelled this call${ago(cancelledAt, nowMs)}. Nothing is left to answer.`;
  }
  if (typeof respondedBy !== 'string' || typeof resolution !== 'string') return printable(refusal.detail, detailMax);
  const where = typeof via === 'string' ? ` via ${channel(via)}` : '';
  return `${nameWords(respondedBy)} ${printable(resolution)} this${ago(respondedAt, nowMs)}${where}. Nothing is left to answer.`;
}

function ago(time: unknown, nowMs: number): string {
  return typeof time === 'string' ? ` ${agoWords(time, nowMs)}` : '';
}

/** The facts that the detail does not contain already. */
function errorsWords(errors: unknown, detail: string): string {
  if (!Array.isArray(errors)) return '';
  const all = (errors as unknown[]).slice(0, 10).map((error) => {
    const { path, message } = (error ?? {}) as { readonly path?: unknown; readonly message?: unknown };
    return `${printable(String(path), 200)}: ${printable(String(message), 200)}`;
  });
  const words = all.filter((one) => !detail.includes(one));
  return words.length === 0 ? '' : ` (${words.join('; ')})`;
}
