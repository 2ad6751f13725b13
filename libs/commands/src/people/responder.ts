import type { Responder } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts, KnownApprover } from '../ports.js';
import { refused } from '../result.js';
import type { Refused } from '../stream/with-tool-call.js';
import { aliasesOf } from './aliases.js';
import { boundedGroups, groupsOfFiles, groupsOfRequest } from './groups.js';

/**
 * The person of a response, with the groups that all files and the sign-in give together, and the people who have
 * delegated to them at the time `at`. A delegator who is no approver any more has no voice to give.
 *
 * Attack: a front end speaks for a person to whom a file gives more groups, or in whose name others may respond. It gives no
 * group that its token does not list.
 */
export function responderOf(ports: Pick<CommandPorts, 'policies' | 'people'>, actor: Actor, at: number): Responder {
  const { policies, people } = ports;
  const { tenant, principal, groups, groupsWithin, via, assurance, name, vouchedBy } = actor;
  const policy = policies.of(tenant);
  const known = (id: string): KnownApprover | undefined =>
    people === undefined ? { groups: [], isAway: false } : people.approver(tenant, id);
  const own = known(principal);
  const mayHave = (all: Iterable<string>): readonly string[] =>
    boundedGroups(boundedGroups(all, own?.within), groupsWithin);
  const toPerson = (id: string) => ({ principal: id, aliases: aliasesOf(ports, tenant, id) });
  const delegators = policy.delegatorsOf(principal, at).flatMap((one) => {
    const more = known(one.id);
    if (more === undefined) return [];
    const given = boundedGroups([...one.groups, ...more.groups], more.within);
    const theirs = mayHave(given);
    return [{ ...toPerson(one.id), groups: theirs, ...groupsOfFiles(more, theirs) }];
  });
  const all = mayHave([...groups, ...(own?.groups ?? []), ...policy.groupsOf(principal)]);
  const written = groupsOfFiles(own, all, groupsOfRequest(actor));
  const named = { ...(name !== undefined && { name }), ...(vouchedBy !== undefined && { vouchedBy }) };
  return { ...toPerson(principal), groups: all, ...written, via, assurance, delegators, ...named };
}

/**
 * The refusal of a person who is no approver any more, asked at each decision.
 *
 * Attack: a response that was sent with a stolen token waits for a busy store, and the token is removed meanwhile.
 */
export function noApproverNow(
  { people }: Pick<CommandPorts, 'people'>,
  { tenant, principal, credential }: Pick<Actor, 'tenant' | 'principal' | 'credential'>,
): Refused | undefined {
  if (people === undefined) return undefined;
  if (people.approver(tenant, principal) === undefined)
    return refused('forbidden', 'You do not have the role approver.');
  const isGone = credential !== undefined && people.holds?.(tenant, principal, credential) === false;
  return isGone ? refused('forbidden', 'The token of this response was removed.') : undefined;
}
