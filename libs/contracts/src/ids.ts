import { hash } from 'node:crypto';
import { canonicalJson } from './canonical-json.js';
import { inOnePiece } from './in-one-piece.js';

const alphabet = 'abcdefghijklmnopqrstuvwxyz234567';

/** RFC 4648 base32, lower case, without padding. */
export function base32(bytes: Uint8Array): string {
  const letters: string[] = [];
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      letters.push(alphabet.charAt((buffer >>> bits) & 31));
    }
    buffer &= (1 << bits) - 1;
  }
  if (bits > 0) letters.push(alphabet.charAt((buffer << (5 - bits)) & 31));
  return inOnePiece(...letters);
}

/** The bytes of a base32 text; a letter that base32 does not have counts as the first one. */
export function fromBase32(text: string): Uint8Array {
  const bytes: number[] = [];
  let buffer = 0;
  let bits = 0;
  for (const letter of text) {
    buffer = (buffer << 5) | Math.max(0, alphabet.indexOf(letter));
    bits += 5;
    if (bits < 8) continue;
    bits -= 8;
    bytes.push((buffer >>> bits) & 255);
    buffer &= (1 << bits) - 1;
  }
  return Uint8Array.from(bytes);
}

/**
 * The id of a tool call: `tc_` and 26 characters derived from (tenant, runId, toolCallId), so that a repeated request
 * finds the first one's stream without an index.
 */
export function deriveCallId(tenant: string, runId: string, toolCallId: string): string {
  const digest = hash('sha256', canonicalJson([tenant, runId, toolCallId]), 'hex');
  return inOnePiece('tc_', base32(Buffer.from(digest.slice(0, 32), 'hex')));
}

/** The id of a call's n-th approval (`round` starts at 1). It carries its callId, so no index is needed to find the stream. */
export function approvalIdOf(callId: string, round: number): string {
  return inOnePiece('apr_', callId.slice('tc_'.length), '_', String(round));
}

const approvalIdPattern = /^apr_([a-z2-7]{26})_([1-9][0-9]{0,5})$/;

/** Returns the callId and round of an approvalId, or `undefined` for any other text. */
export function parseApprovalId(approvalId: string): { readonly callId: string; readonly round: number } | undefined {
  const match = approvalIdPattern.exec(approvalId);
  const [, suffix, round] = match ?? [];
  return suffix === undefined || round === undefined ? undefined : { callId: `tc_${suffix}`, round: Number(round) };
}

/**
 * The stream of an all-or-nothing batch, `batch-` and 26 characters derived from its members and the principal that requested
 * them: another principal, or another list of members, is another batch.
 */
export function batchStream(batch: {
  readonly tenant: string;
  readonly requestedBy: string;
  readonly batchCallIds: readonly string[];
}): string {
  const identity = [batch.tenant, batch.requestedBy, batch.batchCallIds.toSorted()];
  const digest = hash('sha256', canonicalJson(identity), 'hex');
  return `batch-${base32(Buffer.from(digest.slice(0, 32), 'hex'))}`;
}

/** The id of the grant that a command creates, so that a retry of the command creates no second one. */
export function deriveGrantId(tenant: string, principal: string, commandId: string): string {
  const digest = hash('sha256', canonicalJson([tenant, principal, commandId]), 'hex');
  return `grn_${base32(Buffer.from(digest.slice(0, 32), 'hex'))}`;
}

/** The id of the stop that a command declares, so that a retry of the command declares no second one. */
export function deriveStopId(tenant: string, principal: string, commandId: string): string {
  const digest = hash('sha256', canonicalJson(['stop', tenant, principal, commandId]), 'hex');
  return `stop_${base32(Buffer.from(digest.slice(0, 32), 'hex'))}`;
}

/** Returns whether a string has the form of a grantId. */
export function isGrantId(value: string): boolean {
  return /^grn_[a-z2-7]{26}$/.test(value);
}

/** The form of a call's id. */
export const callIdPattern = /^tc_[a-z2-7]{26}$/;

/** Returns whether a string has the form of a callId. */
export function isCallId(value: string): boolean {
  return callIdPattern.test(value);
}

/** The stream of a tool call. */
export function toolCallStream(callId: string): string {
  return `toolCall-${callId}`;
}
