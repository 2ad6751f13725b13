import { hash } from 'node:crypto';
import { canonicalJson, canonicalText } from './canonical-json.js';
import { inOnePiece } from './in-one-piece.js';
import type { JsonObject } from './json.js';
import type { Assurance } from './primitives.js';

/** The type of a receipt, the `typ` of its header. */
export const receiptType = 'countersign-receipt+jwt';

/** The place of a call in its run when it was claimed. */
export interface PlaceInRun {
  /** The number of the call in the order of the requests, from 1. */
  readonly n: number;
  /** How many calls the run had. */
  readonly of: number;
}

/** The approval by which a call runs. */
export interface ReceiptApprovals {
  /** The people who agreed. 0: a rule, a standing grant or the end of a deadline allows the call. */
  readonly count: number;
  /** The weakest assurance among them; null without one. */
  readonly assurance: Assurance | null;
}

/** The claims of a receipt except `iss`, which the signer adds, and `approvers`, which it adds on request. */
export interface ReceiptFacts {
  /** The name of the tool. */
  readonly aud: string;
  /** The callId. */
  readonly sub: string;
  readonly attempt: number;
  readonly runId: string;
  readonly agentId: string;
  readonly tenant: string;
  readonly actionDigest: string;
  /** The proposal that people agreed to; null for a call that no person approved. */
  readonly proposalDigest: string | null;
  /** See {@link receiptArgumentsHash}. */
  readonly argumentsHash: string;
  readonly nonce: string;
  readonly approvals: ReceiptApprovals;
  readonly policyVersion: string | null;
  /** Null: the process that claimed does not know the run. */
  readonly seq: PlaceInRun | null;
  /** Seconds since 1970. */
  readonly iat: number;
  /** The end of the lease, seconds since 1970, rounded down. */
  readonly exp: number;
  readonly jti: string;
}

/** All claims of a receipt. */
export interface ReceiptClaims extends ReceiptFacts {
  readonly iss: string;
  readonly approvers?: readonly string[];
}

/**
 * The hash by which a tool recognises the arguments that run: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of
 * `{arguments, nonce}`.
 */
export function receiptArgumentsHash(nonce: string, args: JsonObject): string {
  const text = `{"arguments":${canonicalJson(args)},"nonce":${canonicalText(nonce)}}`;
  return inOnePiece('sha256:', hash('sha256', text, 'hex'));
}
