import type { BotFrameworkAuth, BotFrameworkBot, VerifiedSender } from '@countersign/channels';
import { createHttpClient, fetchUnencoded } from '@countersign/http-client';
import type { Clock } from '@countersign/runtime';
import { createRemoteJWKSet, customFetch, errors, jwtVerify } from 'jose';
import type { JWTVerifyResult } from 'jose';
import { z } from 'zod';

const issuer = 'https://api.botframework.com';
const channelOfTeams = 'msteams';
const clockToleranceS = 300;
const keysMaxAgeMs = 86_400_000;
const timeoutMs = 5_000;
/** An attacker causes no more than one look at the keys in this time. */
const reloadPauseMs = 30_000;
const failedPauseMs = 3_000;

type Keys = ReturnType<typeof createRemoteJWKSet>;
const metadataSchema = z.object({ jwks_uri: z.url() });
const keySchema = z.object({ kid: z.string(), endorsements: z.array(z.string()) });

/**
 * Checks the token of a request as the Bot Connector's documentation demands: issuer, audience, time, signature by a published
 * key that is endorsed for Teams. The caller compares the service url.
 *
 * The attack: a token of Microsoft Entra for the same audience. Everybody in the tenant who may register an application gets one,
 * so only the Connector's own issuer counts. The vendor's package accepts both.
 */
export function createBotFrameworkAuth({ openIdUrl, appId }: BotFrameworkBot, clock: Clock): BotFrameworkAuth {
  let keys: Promise<Keys> | undefined;
  let failedAt = -Infinity;
  const readKeys = (): Promise<Keys> => {
    if (keys === undefined && clock.monotonic() < failedAt + failedPauseMs) {
      return Promise.reject(new Error('the last look at the keys has just failed'));
    }
    keys ??= fetchKeys(openIdUrl, clock).catch((error: unknown) => {
      [keys, failedAt] = [undefined, clock.monotonic()];
      throw error;
    });
    return keys;
  };
  return {
    verify: async (authorization = '') => {
      const [, token] = /^Bearer ([\w.-]+)$/.exec(authorization) ?? [];
      if (token === undefined) return refused('it has no token');
      try {
        const known = await readKeys();
        const options = { issuer, audience: appId, algorithms: ['RS256'], requiredClaims: ['exp'] };
        const time = { clockTolerance: clockToleranceS, currentDate: new Date(clock.now()) };
        return judge(await jwtVerify(token, known, { ...options, ...time }), known);
      } catch (error) {
        return isOfToken(error) ? refused(error.message) : { status: 'unavailable', why: nameOf(error) };
      }
    },
  };
}

async function fetchKeys(openIdUrl: string, clock: Clock): Promise<Keys> {
  const answer = await createHttpClient({ base: openIdUrl, clock }).send({ path: '', timeoutMs });
  const { jwks_uri: uri } = metadataSchema.parse(answer.body);
  const time = { cacheMaxAge: keysMaxAgeMs, cooldownDuration: reloadPauseMs, timeoutDuration: timeoutMs };
  return createRemoteJWKSet(new URL(uri), { [customFetch]: fetchUnencoded, ...time });
}

function judge({ payload, protectedHeader }: JWTVerifyResult, keys: Keys): VerifiedSender {
  const listed = (keys.jwks()?.keys ?? []).flatMap((key) => keySchema.safeParse(key).data ?? []);
  const key = listed.find(({ kid }) => kid === protectedHeader.kid);
  if (key?.endorsements.includes(channelOfTeams) !== true) return refused('its key is not endorsed for Teams');
  const { serviceurl: serviceUrl } = payload;
  return typeof serviceUrl === 'string' ? { status: 'valid', serviceUrl } : refused('it names no service url');
}

/** The errors of `jose` when it cannot read the key set. */
const codesOfKeys = ['ERR_JOSE_GENERIC', 'ERR_JWKS_TIMEOUT', 'ERR_JWKS_INVALID'];

function isOfToken(error: unknown): error is errors.JOSEError {
  return error instanceof errors.JOSEError && !codesOfKeys.includes(error.code);
}

function refused(why: string): VerifiedSender {
  return { status: 'refused', why };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
