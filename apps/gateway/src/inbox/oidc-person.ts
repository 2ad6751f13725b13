import { hash } from 'node:crypto';
import { groupSchema, lookalikeProblem } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { JWTPayload } from 'jose';
import type { OidcConfig } from './oidc-config.js';
import { TokenRefusedError } from './token-refused.js';
import type { Person } from './session-store.js';

/** The most that the clock of the provider and the one of this machine may differ, in seconds. */
export const clockToleranceS = 60;

/**
 * The person of verified claims. Issuer and subject: names and email addresses can be reassigned, these cannot. A group
 * whose name could look like another one is left out.
 * @param nowMs the time of this machine.
 * @throws TokenRefusedError when the subject is no text, or could look like another one, or the token is of the future.
 */
export function personOf({ tenant, rolesClaim, groupsClaim }: OidcConfig, claims: JWTPayload, nowMs: number): Person {
  const { iss = '', sub, iat } = claims as Readonly<Record<string, unknown>>;
  if (typeof sub !== 'string' || sub.trim() === '') {
    throw new TokenRefusedError('its subject (sub) is empty or no text');
  }
  if (typeof iat === 'number' && iat > nowMs / 1000 + clockToleranceS) {
    throw new TokenRefusedError(`it was issued in the future (iat): ${compareClocks}`);
  }
  const principal = `${String(iss)}#${sub}`;
  const problem = lookalikeProblem(principal) ?? lookalikeProblem(sub) ?? (isPlain(sub) ? undefined : notPlain);
  if (problem !== undefined) throw new TokenRefusedError(`its subject (sub) ${problem}`);
  const groups = listOf(claimAt(claims, groupsClaim)).filter((group) => groupSchema.safeParse(group).success);
  return { tenant, principal, roles: listOf(claimAt(claims, rolesClaim)), groups, credential: credentialOf(claims) };
}

/** The issuer, and what it calls the token (`jti`) or the sign-in (`sid`). Of an id that is no plain short text, the hash. */
function credentialOf({ iss = '', jti, sid }: JWTPayload): string {
  const id = [jti, sid].find((one): one is string => typeof one === 'string' && one !== '');
  if (id === undefined) return `oidc:${iss}`;
  return `oidc:${iss}#${isPlain(id) ? id : hash('sha256', id).slice(0, 32)}`;
}

/** The standard allows 255 characters. */
const notPlain = 'is longer than 255 characters, or contains a control character or half of a surrogate pair';

/** What it names is recorded, logged and shown. */
function isPlain(text: string): boolean {
  return text.length <= 255 && text.isWellFormed() && !/\p{Cc}/u.test(text);
}

/** Returns whether a principal can be a person of a provider: it then has an issuer and a subject, as above. */
export function isOfProvider({ principal }: Pick<Person, 'principal'>): boolean {
  return principal.includes('#');
}

/** The remedy for a token whose time does not fit. */
export const compareClocks = 'compare the clock of the provider with the one of this machine';

/** Tells the operator why a person has no roles or groups: a configured claim is not in the token. */
export function logMissingClaims(
  log: Pick<Log, 'info' | 'warn'>,
  { rolesClaim, groupsClaim }: OidcConfig,
  claims: JWTPayload,
): void {
  for (const claim of [rolesClaim, groupsClaim]) {
    const value = claimAt(claims, claim);
    const fields = { claim, issuer: claims.iss, subject: claims.sub };
    if (isElsewhere(claims, claim)) {
      log.warn(
        fields,
        'a token only points at a configured claim (_claim_names): let the provider put it into the token',
      );
    } else if (typeof value !== 'string' && !Array.isArray(value)) {
      log.info(fields, 'a token has no text or list under a configured claim, so it gives nothing');
    }
  }
}

/** A provider leaves out a claim that is too large, and names the endpoint that has it (OpenID Connect Core 5.6.2). */
function isElsewhere({ _claim_names: names }: JWTPayload, claim: string): boolean {
  const [first = ''] = claim.split('.');
  return typeof names === 'object' && names !== null && (Object.hasOwn(names, claim) || Object.hasOwn(names, first));
}

/**
 * The claim of a name. The longest member that fits comes first: in `https://example.com/roles` a dot is a part of the
 * name, in `realm_access.roles` it leads to a member.
 */
function claimAt(claims: object, name: string): unknown {
  const parts = name.split('.');
  for (let length = parts.length; length > 0; length -= 1) {
    const member = parts.slice(0, length).join('.');
    if (!Object.hasOwn(claims, member)) continue;
    const value: unknown = (claims as Readonly<Record<string, unknown>>)[member];
    if (length === parts.length) return value;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
    const found = claimAt(value, parts.slice(length).join('.'));
    if (found !== undefined) return found;
  }
  return undefined;
}

function listOf(claim: unknown): string[] {
  if (typeof claim === 'string') return claim.split(/[\s,]+/).filter((word) => word !== '');
  return Array.isArray(claim) ? claim.filter((word) => typeof word === 'string') : [];
}
