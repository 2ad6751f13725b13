import { jcsDigest } from '@countersign/contracts';
import type { CredentialRights } from '@countersign/contracts';
import { credentialOfToken } from '@countersign/commands';
import { processTenant } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import { digestOf, lower } from './token-entries.js';
import type { ParsedEntry } from './token-entries.js';

/** The content of a tokens file. */
export interface TokensContent {
  readonly entries: readonly ParsedEntry[];
  /** The digest of its bytes. */
  readonly digest: string;
}

/** A list of this length is recorded whole; the digest of the rights covers the rest. */
const listedMax = 100;

function toRights(entry: ParsedEntry): CredentialRights {
  const { principal, roles, groups, agentIds, owner, maxAssurance, people } = entry;
  const lists = [groups, agentIds, people?.groups ?? []];
  const more = lists.reduce((sum, list) => sum + Math.max(0, list.length - listedMax), 0);
  const optional = { ...(owner !== undefined && { owner }), ...(maxAssurance !== undefined && { maxAssurance }) };
  const shown = people && { ...people, groups: people.groups.slice(0, listedMax) };
  return {
    ...{ credential: credentialOfToken(digestOf(entry)), principal, roles: [...roles] },
    ...{ groups: groups.slice(0, listedMax), agentIds: agentIds.slice(0, listedMax) },
    ...(more > 0 && { more }),
    ...optional,
    ...(shown !== undefined && { people: shown }),
    rights: jcsDigest({ principal, roles, groups, agentIds, ...optional, ...(people !== undefined && { people }) }),
  };
}

interface Difference {
  readonly added: readonly CredentialRights[];
  readonly changed: readonly CredentialRights[];
  readonly removed: readonly CredentialRights[];
}

/**
 * Records how the tokens differ from what this process recorded last: in the log of each tenant its own credentials, and
 * in that of `default` the digest of the file. What was recorded before a crash is not recorded again.
 * @throws as {@link SystemLog.record}.
 */
export async function recordTokens(system: SystemLog, { entries, digest }: TokensContent): Promise<void> {
  const byTenant = Map.groupBy(entries, ({ tenant }) => tenant);
  for (const tenant of new Set([processTenant, ...system.tenants(), ...byTenant.keys()])) {
    const before = await system.recorded(tenant);
    const parts = partsOf(differenceOf(before.credentials, (byTenant.get(tenant) ?? []).map(toRights)));
    const isOfProcess = tenant === processTenant;
    const hasOtherBytes = isOfProcess && before.digests.get('tokens') !== digest;
    if (parts.length === 0 && hasOtherBytes) parts.push(emptyPart());
    await recordParts(system, tenant, parts, isOfProcess ? digest : null);
  }
}

/** The last part has the digest: until it is recorded, the record is not whole. */
async function recordParts(
  system: SystemLog,
  tenant: string,
  parts: readonly Part[],
  digest: string | null,
): Promise<void> {
  for (const [index, part] of parts.entries()) {
    const isLast = index === parts.length - 1;
    await system.record(tenant, {
      type: 'ConfigurationChanged',
      data: {
        ...{ configures: 'tokens', digest: isLast ? digest : null, summary: [], ...part },
        ...(parts.length > 1 && { part: { nth: index + 1, of: parts.length } }),
        changedAt: system.now(),
      },
    });
  }
}

function differenceOf(before: ReadonlyMap<string, CredentialRights>, now: readonly CredentialRights[]): Difference {
  const names = new Set(now.map(({ credential }) => credential));
  return {
    added: now.filter(({ credential = '' }) => !before.has(credential)),
    changed: now.filter(({ credential = '', rights }) => (before.get(credential)?.rights ?? rights) !== rights),
    removed: [...before.values()].filter(({ credential }) => !names.has(credential)),
  };
}

/** An event of this size fits into every store and on every broker. */
const partCharsMax = 200_000;

type Part = { readonly [Name in keyof Difference]: CredentialRights[] };

const emptyPart = (): Part => ({ added: [], changed: [], removed: [] });

/** The difference in parts of a bounded size: a tokens file may have thousands of people. */
function partsOf(difference: Difference): Part[] {
  const parts: Part[] = [];
  let chars = Infinity;
  for (const name of ['removed', 'changed', 'added'] as const) {
    for (const one of difference[name]) {
      const length = JSON.stringify(one).length;
      if (chars + length > partCharsMax) {
        parts.push(emptyPart());
        chars = 0;
      }
      chars += length;
      parts.at(-1)?.[name].push(one);
    }
  }
  return parts;
}

/**
 * The entries that may count before a change is recorded: what was removed ends at once, what was added waits. Attack: an
 * operator gives himself a right for a moment, while the event store cannot be written. A request names the owner of its agent as
 * it is recorded, so another owner waits too.
 */
export function withoutNewRights(
  next: readonly ParsedEntry[],
  inForce: readonly ParsedEntry[],
): readonly ParsedEntry[] {
  const known = new Map(inForce.map((entry) => [digestOf(entry), entry]));
  return next.flatMap((entry) => {
    const old = known.get(digestOf(entry));
    if (old === undefined || old.tenant !== entry.tenant || old.principal !== entry.principal) return [];
    return [common(entry, old)];
  });
}

function common(entry: ParsedEntry, old: ParsedEntry): ParsedEntry {
  const { owner: _later, maxAssurance = 'high', people, ...rest } = entry;
  const { owner, maxAssurance: before = 'high' } = old;
  const isLimited = entry.maxAssurance !== undefined || old.maxAssurance !== undefined;
  return {
    ...rest,
    roles: entry.roles.filter((role) => old.roles.includes(role)),
    groups: entry.groups.filter((group) => old.groups.includes(group)),
    agentIds: entry.agentIds.filter((glob) => old.agentIds.includes(glob)),
    ...(owner !== undefined && { owner }),
    ...(isLimited && { maxAssurance: lower(maxAssurance, before) }),
    ...(people !== undefined && old.people !== undefined && { people: commonPeople(people, old.people) }),
  };
}

type PeopleOfEntry = NonNullable<ParsedEntry['people']>;

function commonPeople(people: PeopleOfEntry, old: PeopleOfEntry): PeopleOfEntry {
  return {
    groups: people.groups.filter((group) => old.groups.includes(group)),
    maxAssurance: people.maxAssurance === old.maxAssurance ? people.maxAssurance : 'low',
  };
}
