import { hash } from 'node:crypto';
import { personOfFrontEnd } from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import { credentialOfToken } from '@countersign/commands';
import type { Actor, Role } from '@countersign/commands';
import { digestOf, lower, parseTokenEntries } from './token-entries.js';
import type { ParsedEntry } from './token-entries.js';

export { TokensError } from './token-entries.js';
export type { TokenEntry } from './token-entries.js';

/** The owner of a token, as the actor of each channel. */
interface Holder {
  readonly api: Actor;
  readonly cli: Actor;
  readonly mcp: Actor;
  readonly inbox: Actor;
}

/** The built-in channels of a bearer token. */
export type BearerVia = 'api' | 'cli' | 'mcp';

/** How sure a built-in channel is of the person. A client of MCP may accept its forms without one. */
export function assuranceOf(via: BearerVia | 'inbox'): Assurance {
  return via === 'mcp' ? 'low' : 'medium';
}

/** Proves who sends a request. */
export interface Tokens {
  /** Returns the actor of a bearer token; undefined for an unknown token. `via` is the channel of the request. */
  readonly actorOf: (token: string, via: BearerVia) => Actor | undefined;
  /** Returns whether `actorOf` returns this very object now: its token and its rights are as they were. */
  readonly isInForce: (actor: Actor) => boolean;
  /** Returns the inbox actor of the token with this SHA-256 (hex), for a session that was opened with it. A front end has no session. */
  readonly actorOfHash: (tokenSha256: string) => Actor | undefined;
  /** Returns whether a token gives this role to the principal. */
  readonly grants: (who: Pick<Actor, 'tenant' | 'principal'>, role: Role) => boolean;
  /** The groups that the entries with the role approver give to the principal. */
  readonly groupsOf: (who: Pick<Actor, 'tenant' | 'principal'>) => readonly string[];
  /**
   * Returns whether the credential with this id is a token of the principal with the role approver, or of the front end
   * that speaks for them.
   */
  readonly holds: (who: Pick<Actor, 'tenant' | 'principal'>, credential: string) => boolean;
  /** The principals of a tenant to whom an entry gives the role approver. */
  readonly approverIds: (tenant: string) => readonly string[];
  /** The groups of all approvers of a tenant, and those that people of front ends may have. */
  readonly approverGroups: (tenant: string) => ReadonlySet<string>;
  /** The groups that the people of each front end of a tenant may have, by the principal of the front end. */
  readonly frontEnds: (tenant: string) => ReadonlyMap<string, readonly string[]>;
  /** Calls the listener after each change; returns a function that stops this. Absent: the tokens never change. */
  readonly onChange?: (listener: () => void) => () => void;
}

/**
 * Tokens out of a list of entries; only their SHA-256 is kept.
 * @throws TokensError with all problems at once.
 * @example
 * const tokens = createTokens([{ token: 's3cret', principal: 'billing-agent', roles: ['agent'] }]);
 */
export function createTokens(entries: unknown, source = 'the tokens'): Tokens {
  return tokensOf(parseTokenEntries(entries, source));
}

/** The tokens of entries that were checked. */
export function tokensOf(parsed: readonly ParsedEntry[]): Tokens {
  const byTenant = Map.groupBy(parsed, ({ tenant }) => tenant);
  const people = new Map([...byTenant].map(([tenant, entries]) => [tenant, toPeopleOfTokens(entries)]));
  const holders = new Map(parsed.map((entry) => [digestOf(entry), toHolder(entry)]));
  // Not the inbox's: a session may end before its token does.
  const bearers = new WeakSet([...holders.values()].flatMap(({ api, cli, mcp }) => [api, cli, mcp]));
  return {
    actorOf: (token, via) => {
      // The time of the look-up depends on the hash, of which a caller cannot choose even the first byte, and not on
      // the token.
      return holders.get(hash('sha256', token))?.[via];
    },
    isInForce: (actor) => bearers.has(actor),
    actorOfHash: (tokenSha256) => {
      const actor = holders.get(tokenSha256)?.inbox;
      return actor?.people === undefined ? actor : undefined;
    },
    grants: ({ tenant, principal }, role) => people.get(tenant)?.roles.get(principal)?.has(role) === true,
    groupsOf: ({ tenant, principal }) => people.get(tenant)?.approverGroups.get(principal) ?? [],
    holds: ({ tenant, principal }, credential) =>
      people.get(tenant)?.credentials.has(heldBy(principal, credential)) === true ||
      people.get(tenant)?.credentials.has(heldBy(personOfFrontEnd(principal)?.frontEnd ?? principal, credential)) ===
        true,
    approverIds: (tenant) => people.get(tenant)?.approverIds ?? [],
    approverGroups: (tenant) => people.get(tenant)?.groups ?? new Set(),
    frontEnds: (tenant) => people.get(tenant)?.frontEnds ?? new Map(),
  };
}

/** The principals of one tenant. They are looked up several times in each response, so they are kept by name. */
interface PeopleOfTokens {
  readonly roles: ReadonlyMap<string, ReadonlySet<Role>>;
  readonly approverIds: readonly string[];
  readonly approverGroups: ReadonlyMap<string, readonly string[]>;
  readonly groups: ReadonlySet<string>;
  readonly frontEnds: ReadonlyMap<string, readonly string[]>;
  /** The tokens with which people respond, each with its principal. */
  readonly credentials: ReadonlySet<string>;
}

const heldBy = (principal: string, credential: string): string => `${credential} ${principal}`;

function toPeopleOfTokens(entries: readonly ParsedEntry[]): PeopleOfTokens {
  const all = Map.groupBy(entries, ({ principal }) => principal);
  const approvers = Map.groupBy(
    entries.filter(({ roles: given }) => given.includes('approver')),
    ({ principal }) => principal,
  );
  const frontEnds = new Map<string, readonly string[]>();
  for (const { principal, people } of entries) {
    if (people !== undefined) frontEnds.set(principal, [...(frontEnds.get(principal) ?? []), ...people.groups]);
  }
  const approverGroups = new Map(
    [...approvers].map(([principal, own]) => [principal, own.flatMap(({ groups }) => groups)]),
  );
  return {
    roles: new Map([...all].map(([principal, own]) => [principal, new Set(own.flatMap((entry) => entry.roles))])),
    approverIds: [...approvers.keys()],
    approverGroups,
    groups: new Set([...approverGroups.values(), ...frontEnds.values()].flat()),
    frontEnds,
    credentials: new Set(
      entries
        .filter(({ roles: given, people }) => given.includes('approver') || people !== undefined)
        .map((entry) => heldBy(entry.principal, credentialOfToken(digestOf(entry)))),
    ),
  };
}

function toHolder(entry: ParsedEntry): Holder {
  const actor = {
    tenant: entry.tenant,
    principal: entry.principal,
    roles: new Set(entry.roles),
    groups: entry.groups,
    agentIds: entry.agentIds,
    credential: credentialOfToken(digestOf(entry)),
    ...(entry.owner !== undefined && { owner: entry.owner }),
    ...(entry.people !== undefined && { people: entry.people }),
  };
  const as = (via: BearerVia | 'inbox'): Actor => ({
    ...{ ...actor, via },
    assurance: lower(assuranceOf(via), entry.maxAssurance ?? 'high'),
  });
  return { api: as('api'), cli: as('cli'), mcp: as('mcp'), inbox: as('inbox') };
}
