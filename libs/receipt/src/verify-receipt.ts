import { canonicalForm } from './canonical.js';
import { parseReceipt } from './claims.js';
import type { ParsedReceipt, ReceiptClaims } from './claims.js';
import { createKeySet, keysOf } from './key-set.js';
import type { KeySource, ReceiptKey } from './key-set.js';
import type { UsedJtis } from './used-jtis.js';

/** Why a receipt is refused. */
export type RefusalCode =
  | 'missing-receipt'
  | 'malformed-receipt'
  | 'unknown-key'
  | 'bad-signature'
  | 'wrong-issuer'
  | 'wrong-tenant'
  | 'wrong-tool'
  | 'expired'
  | 'wrong-arguments'
  | 'already-used'
  | 'inactive'
  | 'keys-unavailable';

/** `repeated`: the same request ran before, so it gets the first answer again, and nothing runs. */
export type ReceiptVerdict =
  | { readonly status: 'valid' | 'repeated'; readonly claims: ReceiptClaims }
  | { readonly status: 'refused'; readonly code: RefusalCode; readonly detail: string };

/** The Countersign whose receipts a tool accepts. */
export interface TrustedIssuer {
  /** The `COUNTERSIGN_PUBLIC_URL` of the server. */
  readonly issuer: string;
  /** Default: `default`. */
  readonly tenant?: string | undefined;
  /** The public keys. Give these or `jwksUrl`. */
  readonly keys?: readonly ReceiptKey[] | undefined;
  /** Where the keys are: `<issuer>/.well-known/jwks.json`. */
  readonly jwksUrl?: string | undefined;
  /** Asks the server whether the claim still runs: its outcome may be reported already. Default: it is not asked. */
  readonly introspection?: Introspection | undefined;
  /** Milliseconds since 1970. Default: the clock of the machine. */
  readonly now?: (() => number) | undefined;
  /** How much later than `exp` a receipt is accepted, for clocks that differ. Default: 0. */
  readonly toleranceMs?: number | undefined;
  /** The oldest claim that may run: until then a used receipt is remembered. Default: 24 hours. */
  readonly claimAgeMsMax?: number | undefined;
}

/** The live answer about a receipt. */
export interface Introspection {
  /** `<issuer>/v1/receipts/introspect`. */
  readonly url: string;
  /** A token with the role `tool`. */
  readonly token: string;
}

/** What a receipt is compared with. */
export interface VerifyOptions extends TrustedIssuer {
  /** The arguments as this server received them, parsed from JSON. */
  readonly arguments: unknown;
  readonly toolName: string;
  /** The receipts that were used before. */
  readonly usedJtis: UsedJtis;
  /** The `Idempotency-Key` of the request. */
  readonly idempotencyKey?: string | null | undefined;
}

/**
 * Returns whether a call may run: the receipt is one of the issuer, for this tool and these arguments, not over, and not used before. A
 * valid receipt counts as used from here on.
 * @example
 * const verdict = await verifyReceipt(request.headers.get('countersign-receipt'), {
 *   arguments: body.arguments, toolName: 'refund_order', issuer, jwksUrl: `${issuer}/.well-known/jwks.json`, usedJtis,
 * });
 * if (verdict.status === 'refused') return new Response(verdict.detail, { status: 403 });
 */
export async function verifyReceipt(
  receipt: string | null | undefined,
  options: VerifyOptions,
): Promise<ReceiptVerdict> {
  if (receipt === null || receipt === undefined || receipt === '') {
    return refused('missing-receipt', 'this tool runs only with a receipt of Countersign');
  }
  const parsed = parseReceipt(receipt);
  if (parsed === undefined) return refused('malformed-receipt', 'this is no receipt of Countersign');
  const { claims } = parsed;
  const refusal =
    (await wrongSignature(parsed, options)) ??
    wrongClaims(claims, options) ??
    (await wrongArguments(claims, options)) ??
    (await notRunning(receipt, options.introspection));
  return refusal ?? useOnce(claims, options);
}

/** Last: a receipt that is refused is not used up. */
async function useOnce(claims: ReceiptClaims, options: VerifyOptions): Promise<ReceiptVerdict> {
  const { usedJtis, idempotencyKey = null, toleranceMs = 0 } = options;
  const keepUntil = claims.iat * 1000 + ageMaxOf(options) + toleranceMs;
  const use = await usedJtis.use({ jti: useKey(claims), idempotencyKey, keepUntil });
  if (use === 'used') return refused('already-used', 'this receipt was used before: each claim runs its tool once');
  return { status: use === 'first' ? 'valid' : 'repeated', claims };
}

function refused(code: RefusalCode, detail: string): ReceiptVerdict & { readonly status: 'refused' } {
  return { status: 'refused', code, detail };
}

/** A memory may be shared by the tools of several servers and tenants. */
function useKey({ iss, tenant, jti }: ReceiptClaims): string {
  return JSON.stringify([iss, tenant, jti]);
}

async function wrongSignature(parsed: ParsedReceipt, options: VerifyOptions) {
  let key: ReceiptKey | undefined;
  try {
    key = await sourceOf(options).find(parsed.kid);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refused('keys-unavailable', `the keys of Countersign cannot be read: ${why}`);
  }
  if (key?.x === undefined) return refused('unknown-key', 'this server does not know the key of the receipt');
  return (await isSignedBy(key.x, parsed))
    ? undefined
    : refused('bad-signature', 'the signature is not that of the receipt');
}

/** The key and the algorithm are ours: nothing in the receipt chooses them. */
async function isSignedBy(x: string, { signature, signed }: ParsedReceipt): Promise<boolean> {
  try {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x };
    const key = await crypto.subtle.importKey('jwk', jwk, 'Ed25519', false, ['verify']);
    return await crypto.subtle.verify('Ed25519', key, signature, signed);
  } catch {
    // The key is none.
    return false;
  }
}

/** By URL, so that the keys are read once for all receipts. */
const keySets = new Map<string, KeySource>();

function sourceOf({ keys, jwksUrl, now = Date.now }: TrustedIssuer): KeySource {
  if (keys !== undefined) return keysOf(keys);
  if (jwksUrl === undefined) return keysOf([]);
  const known = keySets.get(jwksUrl) ?? createKeySet(jwksUrl, { fetch: (url, init) => fetch(url, init), now });
  keySets.set(jwksUrl, known);
  return known;
}

const dayMs = 24 * 60 * 60_000;

function ageMaxOf({ claimAgeMsMax = dayMs }: TrustedIssuer): number {
  return claimAgeMsMax;
}

function wrongClaims({ iss, aud, tenant, iat, exp }: ReceiptClaims, options: VerifyOptions) {
  const { issuer, toolName, now = Date.now, toleranceMs = 0 } = options;
  if (iss !== issuer.replace(/\/$/, '')) return refused('wrong-issuer', `the receipt is of ${iss}`);
  if (tenant !== (options.tenant ?? 'default')) return refused('wrong-tenant', 'the receipt is of another tenant');
  if (aud !== toolName) return refused('wrong-tool', `the receipt is for the tool ${aud}`);
  if (now() >= exp * 1000 + toleranceMs) return refused('expired', 'the lease of the receipt is over');
  // After that its use may be forgotten, and a renewed receipt of the same claim must not run the tool again.
  if (now() >= iat * 1000 + ageMaxOf(options)) return refused('expired', 'the claim of the receipt is too old');
  return undefined;
}

async function wrongArguments({ nonce, argumentsHash }: ReceiptClaims, { arguments: args }: VerifyOptions) {
  const hash = await receiptArgumentsHash(nonce, args);
  return hash === argumentsHash ? undefined : refused('wrong-arguments', 'the arguments are not those of the receipt');
}

/** Fails closed: without an answer nothing runs. */
async function notRunning(receipt: string, introspection: Introspection | undefined) {
  if (introspection === undefined) return undefined;
  const { url, token } = introspection;
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
      body: new URLSearchParams({ token: receipt }),
      redirect: 'error',
      signal: AbortSignal.timeout(5_000),
    });
    const answer = response.status === 200 ? ((await response.json()) as { readonly active?: unknown }) : undefined;
    if (answer?.active === true) return undefined;
    const why = answer === undefined ? `status ${String(response.status)}` : 'the claim has ended';
    return refused('inactive', `the receipt is not active: ${why}`);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return refused('inactive', `the server was asked whether the receipt is active, and there was no answer: ${why}`);
  }
}

/**
 * The hash of arguments with the nonce of a receipt; undefined for arguments that JSON does not have. A request without arguments has
 * those of `{}`.
 */
export async function receiptArgumentsHash(nonce: string, args: unknown): Promise<string | undefined> {
  const form = canonicalForm({ arguments: args === undefined ? {} : args, nonce });
  if (form === undefined) return undefined;
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(form)));
  return `sha256:${[...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`;
}
