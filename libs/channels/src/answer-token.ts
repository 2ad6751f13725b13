import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { approvalIdOf, base32, fromBase32, parseApprovalId } from '@countersign/contracts';
import type { Secret } from '@countersign/runtime';

/** The meaning of a button or link. `o`: opens the card, where the decision is made. */
export type TokenAction = 'a' | 'd' | 'm' | 'o';

/** The question that a button or link belongs to. */
export interface TokenContent {
  readonly action: TokenAction;
  readonly approvalId: string;
  /** The beginning of the digest of what its holder was shown: the proposal and its instructions. */
  readonly digestStart: string;
}

/**
 * Makes and reads the tokens in buttons and links: at most 64 bytes, which only this installation can make. `recipient`
 * binds a token to a person: with another one it does not open.
 */
export interface AnswerTokens {
  readonly seal: (
    question: { readonly action: TokenAction; readonly approvalId: string; readonly shownDigest: string },
    recipient?: string,
  ) => string;
  /** Undefined for anything but a whole, unchanged token of ours. */
  readonly open: (token: string, recipient?: string) => TokenContent | undefined;
}

const roundLength = 3;
const idLength = 16;
/** 128 bits: nobody finds an edit whose digest begins like that of what was shown. */
const digestLength = 16;
const macLength = 12;
const contentLength = roundLength + idLength + digestLength;
/** The action, and 47 bytes in base64url: together the 64 bytes that Telegram accepts. */
const pattern = /^([admo])([A-Za-z0-9_-]{63})$/;

/**
 * The tokens of one channel. The key is derived from an existing secret of the channel, so the sender of a card and the
 * receiver of the response need to share only the channels file.
 */
export function createAnswerTokens(secret: Secret, channelId: string): AnswerTokens {
  const key = Buffer.from(hkdfSync('sha256', secret.reveal(), 'countersign answer tokens v2', channelId, 32));
  const macOf = (action: string, content: Buffer, recipient: string): Buffer =>
    createHmac('sha256', key)
      .update(JSON.stringify([action, content.toString('base64url'), recipient]))
      .digest()
      .subarray(0, macLength);
  return {
    seal: ({ action, approvalId, shownDigest }, recipient = '') => {
      const { callId = '', round = 0 } = parseApprovalId(approvalId) ?? {};
      const roundBytes = Buffer.alloc(roundLength);
      roundBytes.writeUIntBE(round, 0, roundLength);
      const id = fromBase32(callId.slice('tc_'.length));
      const content = Buffer.concat([roundBytes, id, Buffer.from(digestStartOf(shownDigest), 'hex')], contentLength);
      return `${action}${Buffer.concat([content, macOf(action, content, recipient)]).toString('base64url')}`;
    },
    open: (token, recipient = '') => {
      const [, action = '', text = ''] = pattern.exec(token) ?? [];
      const bytes = Buffer.from(text, 'base64url');
      // The last letter has two bits that say nothing.
      if (text === '' || bytes.toString('base64url') !== text) return undefined;
      const content = bytes.subarray(0, contentLength);
      if (!timingSafeEqual(macOf(action, content, recipient), bytes.subarray(contentLength))) return undefined;
      const id = base32(content.subarray(roundLength, roundLength + idLength));
      const approvalId = approvalIdOf(`tc_${id}`, content.readUIntBE(0, roundLength));
      if (parseApprovalId(approvalId) === undefined) return undefined;
      const digestStart = content.subarray(roundLength + idLength).toString('hex');
      return { action: action as TokenAction, approvalId, digestStart };
    },
  };
}

/** The part of the digest of what was shown that a token carries. */
export function digestStartOf(shownDigest: string): string {
  return shownDigest.replace(/^sha256:/, '').slice(0, 2 * digestLength);
}
