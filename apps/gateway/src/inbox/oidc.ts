import { fetchUnencoded } from '@countersign/http-client';
import { createLimitedLog } from '@countersign/runtime';
import * as client from 'openid-client';
import { createAccessTokens } from './oidc-access-tokens.js';
import type { AccessTokens, OidcPorts } from './oidc-access-tokens.js';
import type { OidcConfig } from './oidc-config.js';
import { clockToleranceS, logMissingClaims, personOf } from './oidc-person.js';
import { whyRefused } from './oidc-refusal.js';
import { TokenRefusedError } from './token-refused.js';
import type { Person } from './session-store.js';

/** The state of a sign-in until the callback. */
export interface RunningSignIn {
  readonly codeVerifier: string;
  readonly state: string;
  readonly nonce: string;
}

/** People as an OpenID Connect provider proves them. */
export interface Oidc extends AccessTokens {
  /** The secret that we share with the provider; undefined for a public client. */
  readonly secret: Uint8Array | undefined;
  /** Returns the URL for the person, and the state to keep. @throws when the provider is unreachable. */
  readonly begin: (redirectUri: string) => Promise<RunningSignIn & { readonly location: string }>;
  /**
   * Returns the person for this callback URL. @throws TokenRefusedError saying which check of the ID token failed; another
   * error when the URL does not belong to this sign-in.
   */
  readonly finish: (currentUrl: URL, running: RunningSignIn) => Promise<Person>;
}

const timeoutS = 10;

/** OpenID Connect with one provider: authorization code with PKCE for people, JWT access tokens for programs. */
export function createOidc(config: OidcConfig, { clock, log: given }: OidcPorts): Oidc {
  const log = createLimitedLog(given, clock);
  let discovered: Promise<client.Configuration> | undefined;
  const provider = (): Promise<client.Configuration> => {
    // Discovered at the first use, and again after a failure: an unreachable provider affects only its own users.
    discovered ??= discover(config).catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return discovered;
  };
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
      const checks = {
        pkceCodeVerifier: codeVerifier,
        expectedState: state,
        expectedNonce: nonce,
        idTokenExpected: true,
      };
      const tokens = await client.authorizationCodeGrant(await provider(), currentUrl, checks).catch(inWords);
      const claims = tokens.claims();
      if (claims === undefined) throw new Error('the provider sent no ID token');
      const person = personOf(config, claims, clock.now());
      logMissingClaims(log, config, claims);
      return person;
    },
    ...createAccessTokens(config, { clock, log }, async () => (await provider()).serverMetadata()),
  };
}

/** @throws TokenRefusedError when a check of the ID token failed; otherwise the error itself. */
function inWords(error: unknown): never {
  const why = whyRefused(error);
  throw why === undefined ? error : new TokenRefusedError(why, { cause: error });
}

function discover({ issuer, clientId, clientSecret }: OidcConfig): Promise<client.Configuration> {
  // Read through a plain view of the module: the function is marked as deprecated as a warning, and its use here is
  // intended.
  const { allowInsecureRequests } = client as { readonly allowInsecureRequests: (on: client.Configuration) => void };
  const metadata = {
    [client.clockTolerance]: clockToleranceS,
    ...(clientSecret !== null && { client_secret: clientSecret.reveal() }),
  };
  return client.discovery(issuer, clientId, metadata, clientSecret === null ? client.None() : undefined, {
    timeout: timeoutS,
    [client.customFetch]: (url, { body = null, ...options }) => fetchUnencoded(url, { ...options, body }),
    ...(issuer.protocol === 'http:' && { execute: [allowInsecureRequests] }),
  });
}
