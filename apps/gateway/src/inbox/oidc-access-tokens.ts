import { hash } from 'node:crypto';
import { fetchUnencoded } from '@countersign/http-client';
import type { Clock, Log } from '@countersign/runtime';
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyResult } from 'jose';
import type { OidcConfig } from './oidc-config.js';
import { clockToleranceS, logMissingClaims, personOf } from './oidc-person.js';
import { whyRefused } from './oidc-refusal.js';
import type { Person } from './session-store.js';
import { TokenRefusedError } from './token-refused.js';

/** The dependencies of the sign-in at a provider. */
export interface OidcPorts {
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  readonly log: Log;
}

/** The result of the check of an access token. `why` says which check failed; `unavailable`: the provider cannot be asked. */
export type VerifiedToken =
  | { readonly status: 'valid'; readonly person: Person; readonly expiresAtMs: number }
  | { readonly status: 'refused'; readonly why: string }
  | { readonly status: 'unavailable' };

/** The access tokens of a provider. */
export interface AccessTokens {
  /** Returns the owner of an access token, or why it is not valid for this issuer and audience. */
  readonly verify: (accessToken: string) => Promise<VerifiedToken>;
  /** Returns whether this access token was valid before. Its signature is still checked every time. */
  readonly wasValid: (accessToken: string) => boolean;
}

/** The addresses that the provider publishes of itself. */
export interface ProviderMetadata {
  readonly issuer: string;
  readonly jwks_uri?: string | undefined;
}

const validHashesMax = 10_000;
/** Symmetric algorithms and `none` are not among them. */
const algorithms = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];

const reloadPauseMs = 30_000;
const failedReloadPauseMs = 1_000;

/**
 * The provider's keys. They are read again for an unknown key: at once, so that a token of the next key is valid, and then
 * not for 30 s, or for 1 s when that failed. Until then the result is that of the last read, for which all wait: a key is
 * unknown only when the provider said so.
 *
 * The attack: tokens with made-up keys make this process ask the provider without end.
 */
function createKeys(url: URL, clock: Pick<Clock, 'monotonic'>): JWTVerifyGetKey {
  const keys = createRemoteJWKSet(url, { [customFetch]: fetchUnencoded, cooldownDuration: Infinity });
  let nextReloadAt = -Infinity;
  let reloaded: Promise<void> = Promise.resolve();
  const reload = async (): Promise<void> => {
    nextReloadAt = clock.monotonic() + reloadPauseMs;
    try {
      await keys.reload();
    } catch (error) {
      nextReloadAt = clock.monotonic() + failedReloadPauseMs;
      throw error;
    }
  };
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      if (clock.monotonic() >= nextReloadAt) reloaded = reload();
      await reloaded;
      return keys(header, token);
    }
  };
}

/** The check of access tokens that programs send as bearer tokens. */
export function createAccessTokens(
  config: OidcConfig,
  { clock, log }: OidcPorts,
  metadata: () => Promise<ProviderMetadata>,
): AccessTokens {
  const validHashes = new Set<string>();
  let keys: JWTVerifyGetKey | undefined;
  const verified = async (accessToken: string, audience: string): Promise<JWTVerifyResult> => {
    const { jwks_uri: jwksUri, issuer } = await metadata();
    if (jwksUri === undefined) throw new TokenRefusedError('the provider publishes no keys (jwks_uri)');
    keys ??= createKeys(new URL(jwksUri), clock);
    const time = { currentDate: new Date(clock.now()), clockTolerance: clockToleranceS };
    const options = { issuer, audience, algorithms, requiredClaims: ['sub', 'exp'], ...time };
    return jwtVerify(accessToken, keys, options);
  };
  return {
    verify: async (accessToken) => {
      try {
        if (config.audience === null) throw new TokenRefusedError('COUNTERSIGN_OIDC_AUDIENCE is not set');
        const { payload, protectedHeader } = await verified(accessToken, config.audience);
        refuseOtherUse(config, payload, protectedHeader.typ);
        const person = personOf(config, payload, clock.now());
        const tokenHash = hash('sha256', accessToken);
        if (!validHashes.has(tokenHash)) logMissingClaims(log, config, payload);
        remember(validHashes, tokenHash);
        // The check of `requiredClaims` leaves no token without it.
        return { status: 'valid', person, expiresAtMs: (payload.exp ?? 0) * 1000 };
      } catch (error) {
        const why = whyRefused(error);
        if (why !== undefined) return { status: 'refused', why };
        log.error({ error }, 'the OIDC provider cannot be reached');
        return { status: 'unavailable' };
      }
    },
    wasValid: (accessToken) => validHashes.has(hash('sha256', accessToken)),
  };
}

function remember(validHashes: Set<string>, tokenHash: string): void {
  validHashes.delete(tokenHash);
  validHashes.add(tokenHash);
  for (const oldest of validHashes) {
    if (validHashes.size <= validHashesMax) return;
    validHashes.delete(oldest);
  }
}

/** The claims that bind an ID token to its code (OpenID Connect Core 2, 3.3.2.11). */
const idTokenClaims = ['nonce', 'at_hash', 'c_hash', 's_hash'];

/** @throws TokenRefusedError for a token that is genuine, but no bearer token for this API. */
function refuseOtherUse(config: OidcConfig, payload: JWTPayload, headerType: string | undefined): void {
  if (!isAccessToken(config, payload, headerType)) throw new TokenRefusedError('it is no access token');
  // The attack: who has copied such a token sends it without the key that it is bound to (RFC 7800).
  if (payload['cnf'] !== undefined) {
    throw new TokenRefusedError('it is bound to a key (cnf), and DPoP and mTLS are not supported: send a bearer token');
  }
}

/**
 * The attack: an ID token, which any client of the provider holds, in place of an access token. RFC 9068 marks access tokens
 * with `typ`. A provider that does not mark them must at least name an audience that is no client.
 */
function isAccessToken({ clientId }: OidcConfig, payload: JWTPayload, headerType: string | undefined): boolean {
  if (idTokenClaims.some((claim) => payload[claim] !== undefined)) return false;
  const type = headerType?.toLowerCase().replace(/^application\//, '') ?? 'jwt';
  if (type === 'at+jwt') return true;
  const audience = [payload.aud].flat();
  const isForClient = audience.includes(clientId) || audience.includes(String(payload['azp']));
  return type === 'jwt' && payload['typ'] !== 'ID' && !isForClient;
}
