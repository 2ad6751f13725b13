import type { ChannelsConfig, PeopleNow, Person } from '@countersign/channels';
import { allApproversOf, isOfToken } from '@countersign/commands';
import type { Actor, People } from '@countersign/commands';
import { identitiesIn, identityKinds, personOfFrontEnd } from '@countersign/contracts';
import { firstStageShortOf } from '@countersign/domain';
import { createPolicies } from '@countersign/policy';
import type { Approver, KnownPeople, Policies } from '@countersign/policy';
import type { Clock } from '@countersign/runtime';
import { channelsTenant, createIsApprover } from './channels/approvers.js';
import type { Sessions } from './inbox/sessions.js';
import type { Tokens } from './tokens.js';

/** The sources of what is known about people, besides the policy file. They are read at every use, because they may change. */
export interface PeopleSources {
  /** Undefined before the first start made them: their people have no groups. */
  readonly tokens: () =>
    Pick<Tokens, 'approverGroups' | 'approverIds' | 'frontEnds' | 'grants' | 'groupsOf' | 'holds'> | undefined;
  readonly sessions?: () => Pick<Sessions, 'grants' | 'groupsOf' | 'isSignedIn'> | undefined;
  readonly channels: Pick<ChannelsConfig, 'people'> | undefined;
  /** The issuer at which people sign in by OIDC; null: they do not. */
  readonly issuer: URL | null;
}

/** The one definition of who a person is, for the policy file, for votes and for delegations. */
export function createPeople({ tokens, sessions, channels, issuer }: PeopleSources): KnownPeople & People {
  const inFile = (tenant: string): readonly Person[] => (tenant === channelsTenant ? (channels?.people ?? []) : []);
  const names = inFile(channelsTenant).map((person) => [person.id, ...identitiesIn(person)]);
  // The provider cannot be asked about a person without a session: they count as an approver where a file names them.
  const isAway = (tenant: string, principal: string): boolean =>
    isOfIssuer(issuer, principal) && sessions?.()?.isSignedIn({ tenant, principal }) !== true;
  const isApprover = (tenant: string, principal: string): boolean => {
    const known = tokens();
    if (known === undefined) return false;
    return (
      isAway(tenant, principal) ||
      createIsApprover({ tokens: known, sessions: sessions?.() }, undefined, tenant)(principal)
    );
  };
  // The front end says who its people are, and with which groups, in each request.
  const vouchable = (tenant: string, principal: string): readonly string[] | undefined => {
    const person = personOfFrontEnd(principal);
    return person === undefined ? undefined : tokens()?.frontEnds(tenant).get(person.frontEnd);
  };
  const signedInGroups = (who: Pick<Actor, 'tenant' | 'principal'>): readonly string[] =>
    sessions?.()?.groupsOf(who) ?? [];
  const people: Required<KnownPeople> & People = {
    groupsOf: (tenant) => {
      if (issuer !== null) return null;
      return new Set([...(tokens()?.approverGroups(tenant) ?? []), ...inFile(tenant).flatMap(({ groups }) => groups)]);
    },
    channelPeople: inFile,
    approvers: (tenant) => (issuer === null ? tokens()?.approverIds(tenant) : undefined),
    holds: (tenant, principal, credential) =>
      isOfToken(credential) ? tokens()?.holds({ tenant, principal }, credential) : undefined,
    names: (tenant) => (tenant === channelsTenant ? names : []),
    crowds: (tenant) => [...(tokens()?.frontEnds(tenant).values() ?? [])],
    approver: (tenant, principal) => {
      const within = vouchable(tenant, principal);
      if (within !== undefined) return { groups: [], isAway: true, within, signedIn: [] };
      if (!isApprover(tenant, principal)) return undefined;
      const who = { tenant, principal };
      const written = inFile(tenant).find(({ id }) => id === principal)?.groups ?? [];
      const signedIn = signedInGroups(who);
      return {
        groups: [...new Set([...(tokens()?.groupsOf(who) ?? []), ...signedIn, ...written])],
        isAway: isAway(tenant, principal),
        ...(isOfIssuer(issuer, principal) && { signedIn }),
      };
    },
    stageShortOf: (content) => {
      const approvers = allApproversOf({ people, policies: createPolicies([content]) }, content.tenant);
      return (requirement) => (approvers === null ? undefined : firstStageShortOf(requirement, approvers));
    },
  };
  return people;
}

function isOfIssuer(issuer: URL | null, principal: string): boolean {
  if (issuer === null) return false;
  const { href } = issuer;
  return principal.startsWith(`${href}#`) || principal.startsWith(`${href.replace(/\/$/, '')}#`);
}

/**
 * The people of the channels as the channels file and the policy in force say together, and the groups of those in
 * whose place they respond now.
 */
export function createChannelPeople(
  file: readonly Person[],
  policies: Policies,
  people: Pick<People, 'approver'>,
  clock: Pick<Clock, 'now'>,
): PeopleNow {
  return () => {
    const policy = policies.of(channelsTenant);
    const listed = new Map(policy.approvers.map((one) => [one.id, one]));
    const others = policy.approvers.filter(({ id }) => !file.some((one) => one.id === id));
    const all: readonly Person[] = [...file, ...others.map(({ id }) => ({ id, groups: [] }))];
    const groupsOf = (id: string): readonly string[] => people.approver(channelsTenant, id)?.groups ?? [];
    return all.map((person) => {
      const approver = listed.get(person.id);
      const delegators = policy.delegatorsOf(person.id, clock.now());
      return {
        ...united(person, approver),
        isApprover: people.approver(channelsTenant, person.id) !== undefined,
        groups: [...new Set([...person.groups, ...(approver?.groups ?? []), ...groupsOf(person.id)])],
        delegatedGroups: delegators.flatMap(({ id, groups }) =>
          people.approver(channelsTenant, id) === undefined ? [] : [...groups, ...groupsOf(id)],
        ),
      };
    });
  };
}

/** The identities of both files, which do not contradict each other. */
function united(person: Person, approver: Approver | undefined): Person {
  const missing = identityKinds.flatMap((kind) => {
    const identity = person[kind] ?? approver?.identities[kind];
    return identity === undefined ? [] : [[kind, identity] as const];
  });
  return { ...person, ...Object.fromEntries(missing) };
}
