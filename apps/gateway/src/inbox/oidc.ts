import { hash } from 'node:crypto';
import { lookalikeProblem } from '@countersign/contracts';
import { fetchUnencoded } from '@countersign/http-client';
import { createRemoteJWKSet, customFetch, jwtVerify } from 'jose';
import type { JWTPayload } from 'jose';
import * as client from 'openid-client';
import type { OidcConfig } from './oidc-config.js';
import type { Person } from './session-store.js';

/** The state of a sign-in until the callback. */
export interface RunningSignIn {
  readonly codeVerifier: string;
  readonly state: string;
  readonly nonce: string;
}

/** People as an OpenID Connect provider proves them. */
export interface Oidc {
  /** The secret that we share with the provider; undefined for a public client. */
  readonly secret: Uint8Array | undefined;
  /** Returns the URL for the person, and the state to keep. @throws when the provider is unreachable. */
  readonly begin: (redirectUri: string) => Promise<RunningSignIn & { readonly location: string }>;
  /** Returns the person for this callback URL. @throws when it does not belong to this sign-in. */
  readonly finish: (currentUrl: URL, running: RunningSignIn) => Promise<Person>;
  /** Returns the owner of an access token; undefined when the token is not valid for this issuer and audience. */
  readonly verify: (accessToken: string) => Promise<Person | undefined>;
  /** Returns whether this access token was valid before. Its signature is still checked every time. */
  readonly wasValid: (accessToken: string) => boolean;
}

const timeoutS = 10;
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

/** OpenID Connect with one provider: authorization code with PKCE for people, JWT access tokens for programs. */
export function createOidc(config: OidcConfig): Oidc {
  let discovered: Promise<client.Configuration> | undefined;
  const provider = (): Promise<client.Configuration> => {
    // Discovered at the first use, and again after a failure: an unreachable provider affects only its own users.
    discovered ??= discover(config).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  };
  const validHashes = new Set<string>();
  let keys: ReturnType<typeof createRemoteJWKSet> | undefined;
  const secret = config.clientSecret === null ? undefined : Buffer.from(config.clientSecret.reveal());
  return {
    secret,
    begin: async (redirectUri) => {
      const configuration = await provider();
      const codeVerifier = client.randomPKCECodeVerifier();
      const running = { codeVerifier, state: client.randomState(), nonce: client.randomNonce() };
      const location = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid profile email',
        code_challenge: await client.calculatePKCECodeChallenge(codeVerifier),
        code_challenge_method: 'S256',
        state: running.state,
        nonce: running.nonce,
      });
      return { ...running, location: location.href };
    },
    finish: async (currentUrl, { codeVerifier, state, nonce }) => {
      const tokens = await client.authorizationCodeGrant(await provider(), currentUrl, {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      });
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the provider sent no ID token');
      return personOf(config, claims);
    },
    verify: async (accessToken) => {
      if (config.audience === null) return undefined;
      const { jwks_uri: jwksUri, issuer } = (await provider()).serverMetadata();
      if (jwksUri === undefined) return undefined;
      keys ??= createRemoteJWKSet(new URL(jwksUri), { [customFetch]: fetchUnencoded });
      try {
        const options = { issuer, audience: config.audience, algorithms, requiredClaims: ['sub', 'exp'] };
        const { payload, protectedHeader } = await jwtVerify(accessToken, keys, options);
        if (!isAccessToken(config, payload, protectedHeader.typ)) return undefined;
        remember(validHashes, hash('sha256', accessToken));
        return personOf(config, payload);
      } catch {
        return undefined;
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

function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<client.Configuration> {
  // Read through a plain view of the module: the function is marked as deprecated as a warning, and its use here is
  // intended.
  const { allowInsecureRequests } = client as { readonly allowInsecureRequests: (on: client.Configuration) => void };
  return client.discovery(issuer, clientId, clientSecret?.reveal(), clientSecret === null ? client.None() : undefined, {
    timeout: timeoutS,
    [client.customFetch]: (url, { body = null, ...options }) => fetchUnencoded(url, { ...options, body }),
    ...(issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
  });
}

/**
 * Issuer and subject: names and email addresses can be reassigned, these cannot. A group whose name could look like
 * another one is left out. @throws Error when the subject could look like another one.
 */
function personOf({ tenant, rolesClaim, groupsClaim }: OidcConfig, claims: JWTPayload): Person {
  const principal = `${claims.iss ?? ''}#${claims.sub ?? ''}`;
  const problem = lookalikeProblem(principal);
  if (problem !== undefined) throw new Error(`the subject that the provider names ${problem}`);
  const groups = listOf(claims[groupsClaim]).filter((group) => lookalikeProblem(group) === undefined);
  return { tenant, principal, roles: listOf(claims[rolesClaim]), groups };
}

function listOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(/[\s,]+/).filter((word) => word !== '');
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}
