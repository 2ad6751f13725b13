import { nameWords, timeWords } from '@countersign/text';
import { inboxLink } from './card/inbox-link.js';
import type { Notice } from './channel.js';

/** Approvals that wait, in one message. A link leads to the inbox; nothing of it decides. */
export interface DigestList {
  readonly headline: string;
  readonly lines: readonly { readonly text: string; readonly link: string | null }[];
  /** A line with the number of approvals that do not fit into the message; empty: all fit. */
  readonly more: string;
}

const nameMax = 80;

/** Returns whether the notices belong to a digest. */
export function isDigest([{ kind }]: readonly [Notice, ...Notice[]]): boolean {
  return kind === 'digest';
}

/** The approvals of a digest, the oldest first; at most `linesMax`. */
export function digestListOf(notices: readonly Notice[], publicUrl: string | null, linesMax: number): DigestList {
  const sorted = notices.toSorted((one, other) => (requestedAt(one) < requestedAt(other) ? -1 : 1));
  const left = sorted.length - linesMax;
  return {
    headline: notices.length === 1 ? '1 approval is waiting' : `${String(notices.length)} approvals are waiting`,
    lines: sorted.slice(0, linesMax).map((notice) => ({ text: lineOf(notice), link: linkTo(notice, publicUrl) })),
    more: left > 0 ? `and ${String(left)} more: look into the inbox` : '',
  };
}

function requestedAt({ call, approval }: Notice): string {
  return approval?.requestedAt ?? call.requestedAt;
}

/** `delete_file by billing-agent, risk low, until 2026-11-22 11:00:00 UTC`, and nothing of the arguments. */
function lineOf({ call, approval }: Notice): string {
  const risk = approval?.risk ?? null;
  const until = approval?.expiresAt ?? null;
  const facts = [
    `${nameWords(call.toolName, nameMax)} by ${nameWords(call.agentId, nameMax)}`,
    ...(risk === null ? [] : [`risk ${risk}`]),
    until === null ? 'no deadline' : `until ${timeWords(until)}`,
  ];
  return facts.join(', ');
}

function linkTo({ approval }: Notice, publicUrl: string | null): string | null {
  return approval === null ? null : inboxLink(publicUrl, approval.approvalId);
}
