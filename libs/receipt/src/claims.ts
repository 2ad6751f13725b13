/** The claims of a receipt. */
export interface ReceiptClaims {
  /** The public URL of the Countersign that signed it. */
  readonly iss: string;
  /** The name of the tool. */
  readonly aud: string;
  /** The id of the call. */
  readonly sub: string;
  /** The number of the claim, from 1. */
  readonly attempt: number;
  readonly runId: string;
  readonly agentId: string;
  readonly tenant: string;
  readonly actionDigest: string;
  /** What people agreed to; null for a call that needed no approval. */
  readonly proposalDigest: string | null;
  /** `sha256:` and the SHA-256, in hex, over the RFC 8785 form of `{ arguments, nonce }`. */
  readonly argumentsHash: string;
  readonly nonce: string;
  /** How many people agreed, and the weakest assurance among them. */
  readonly approvals: { readonly count: number; readonly assurance: 'low' | 'medium' | 'high' | null };
  readonly policyVersion: string | null;
  /** The number of the call in its run, and how many calls the run had; null: not known. */
  readonly seq: { readonly n: number; readonly of: number } | null;
  /** When the call was claimed, in seconds since 1970. */
  readonly iat: number;
  /** When the lease ends, in seconds since 1970. */
  readonly exp: number;
  /** One for each claim: a renewed receipt has the same. */
  readonly jti: string;
  /** Who agreed; only where the operator wants it. */
  readonly approvers?: readonly string[];
}

/** The header of a receipt, its claims, and what was signed. */
export interface ParsedReceipt {
  readonly kid: string;
  readonly claims: ReceiptClaims;
  readonly signed: Uint8Array<ArrayBuffer>;
  readonly signature: Uint8Array<ArrayBuffer>;
}

const lengthMax = 16_384;

/**
 * Reads a receipt without verifying it; undefined for a text that is none. Its header must be exactly `alg`, `kid` and `typ`: no other
 * algorithm, no key that it brings itself, no member twice.
 */
export function parseReceipt(receipt: string): ParsedReceipt | undefined {
  if (receipt.length > lengthMax) return undefined;
  const parts = receipt.split('.');
  const [header, payload, signature] = parts.map(bytesOf);
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) return undefined;
  const kid = kidOf(objectOf(header));
  const claims = objectOf(payload);
  if (kid === undefined || !isClaims(claims)) return undefined;
  return { kid, claims, signature, signed: new TextEncoder().encode(receipt.slice(0, receipt.lastIndexOf('.'))) };
}

/** Attack: a receipt is shown again as another text of the same bytes, to a server that remembers texts. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
    const written = btoa(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
    return text === '' || written !== text ? undefined : Uint8Array.from(bytes, (unit) => unit.charCodeAt(0));
  } catch {
    return undefined;
  }
}

type JsonMembers = Readonly<Record<string, unknown>>;

/** Attack: a member that is there twice, of which another parser reads the other one. Countersign writes JSON without spaces. */
function objectOf(bytes: Uint8Array): JsonMembers | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && JSON.stringify(value) === text ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

function kidOf(header: JsonMembers | undefined): string | undefined {
  if (header === undefined || Object.keys(header).sort().join() !== 'alg,kid,typ') return undefined;
  const { alg, kid, typ } = header;
  return alg === 'EdDSA' && typ === 'countersign-receipt+jwt' && typeof kid === 'string' ? kid : undefined;
}

const texts = ['iss', 'aud', 'sub', 'runId', 'agentId', 'tenant', 'actionDigest', 'argumentsHash', 'nonce', 'jti'];

function isClaims(claims: unknown): claims is ReceiptClaims {
  if (typeof claims !== 'object' || claims === null) return false;
  const members = claims as JsonMembers;
  const hasTexts = texts.every((name) => typeof members[name] === 'string');
  return hasTexts && ['attempt', 'iat', 'exp'].every((name) => Number.isSafeInteger(members[name]));
}
