import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { parseApprovalId } from '@countersign/contracts';
import type { Secret } from '@countersign/runtime';

/** The meaning of a button or link. `o`: opens the card, where the decision is made. */
export type TokenAction = 'a' | 'd' | 'm' | 'o';

/** The question that a button or link belongs to. */
export interface TokenContent {
  readonly action: TokenAction;
  readonly approvalId: string;
  /** The beginning of the digest of what its holder was shown. */
  readonly digestStart: string;
}

/**
 * Makes and reads the tokens in buttons and links: at most 64 bytes, which only this installation can make. `recipient`
 * binds a token to a person: with another one it does not open.
 */
export interface AnswerTokens {
  readonly seal: (
    question: { readonly action: TokenAction; readonly approvalId: string; readonly actionDigest: string },
    recipient?: string,
  ) => string;
  /** Undefined for anything but a whole, unchanged token of ours. */
  readonly open: (token: string, recipient?: string) => TokenContent | undefined;
}

const digestCharacters = 12;
const pattern = /^([admo])([a-z2-7]{26})([0-9a-f]{12})([A-Za-z0-9_-]{16})([1-9][0-9]{0,5})$/;

/**
 * The tokens of one channel. The key is derived from an existing secret of the channel, so the sender of a card and the
 * receiver of the response need to share only the channels file.
 */
export function createAnswerTokens(secret: Secret, channelId: string): AnswerTokens {
  const key = Buffer.from(hkdfSync('sha256', secret.reveal(), 'countersign answer tokens v1', channelId, 32));
  const macOf = (content: string, recipient: string): string =>
    createHmac('sha256', key)
      .update(JSON.stringify([content, recipient]))
      .digest()
      .subarray(0, 12)
      .toString('base64url');
  return {
    seal: ({ action, approvalId, actionDigest }, recipient = '') => {
      const [, suffix = '', round = ''] = /^apr_([a-z2-7]{26})_(\d+)$/.exec(approvalId) ?? [];
      const content = `${action}${suffix}${digestStartOf(actionDigest)}`;
      return `${content}${macOf(`${content}${round}`, recipient)}${round}`;
    },
    open: (token, recipient = '') => {
      const [, action, suffix, digestStart, mac = '', round] = pattern.exec(token) ?? [];
      if (action === undefined || suffix === undefined || digestStart === undefined || round === undefined) return;
      const wanted = macOf(`${action}${suffix}${digestStart}${round}`, recipient);
      if (!timingSafeEqual(Buffer.from(wanted), Buffer.from(mac))) return undefined;
      const approvalId = `apr_${suffix}_${round}`;
      if (parseApprovalId(approvalId) === undefined) return undefined;
      return { action: action as TokenAction, approvalId, digestStart };
    },
  };
}

/** The part of a digest that a token carries. */
export function digestStartOf(actionDigest: string): string {
  return actionDigest.replace(/^sha256:/, '').slice(0, digestCharacters);
}
