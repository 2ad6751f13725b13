import { comparedIdentity, passkeysStream, personOfFrontEnd } from '@countersign/contracts';
import { passkeyInForce } from '@countersign/domain';
import type { Approval, VoterNow, Vote } from '@countersign/domain';
import { aliasesOf } from './aliases.js';
import { boundedGroups } from './groups.js';
import type { CommandPorts } from '../ports.js';

type VoterPorts = Pick<CommandPorts, 'policies' | 'people'>;

/**
 * What is known now about the people whose votes count in an approval. Attack: a stolen token votes, the token is
 * removed, and the next vote completes the quorum. Nothing without a vote, as nearly always.
 */
export function votersOf(
  ports: VoterPorts,
  tenant: string,
  approval: Approval | undefined,
  at: number,
): { readonly voters?: readonly VoterNow[] } {
  const counted = approval?.votes.filter(({ status, automatic }) => status === 'counted' && !automatic) ?? [];
  return counted.length === 0 ? {} : { voters: counted.map((vote) => voterNow(ports, tenant, vote, at)) };
}

function voterNow(ports: VoterPorts, tenant: string, vote: Vote, at: number): VoterNow {
  const { respondedBy, onBehalfOf } = vote;
  const people = onBehalfOf === null ? [respondedBy] : [respondedBy, onBehalfOf];
  const names = people.flatMap((principal) => [principal, ...aliasesOf(ports, tenant, principal)]);
  const own = groupsOfVoter(ports, tenant, vote, names);
  const now = { respondedBy, onBehalfOf, names, isVouched: isVouched(vote) };
  if (own === null || onBehalfOf === null) return { ...now, groups: own };
  const policy = ports.policies.of(tenant);
  // A process that knows neither people nor a policy, as a projector may be, cannot say that a delegation has ended.
  const isUnknown = ports.people === undefined && policy.approvers.length === 0;
  const isDelegate = isUnknown || policy.delegatorsOf(respondedBy, at).some(({ id }) => id === onBehalfOf);
  const represented = isDelegate ? groupsNow(ports, tenant, onBehalfOf, vote) : null;
  const within = ports.people?.approver(tenant, respondedBy)?.within;
  return { ...now, groups: represented && boundedGroups(represented, within) };
}

/**
 * A command with the passkeys of counted votes that do not count any more. Attack: a stolen phone signs, its passkey is removed,
 * and the next vote completes the quorum.
 */
export function withRemovedPasskeys<Command extends { readonly removedPasskeys?: readonly string[] }>(
  { passkeys }: Pick<CommandPorts, 'passkeys'>,
  tenant: string,
  approval: Approval | undefined,
  command: Command,
): Command | Promise<Command> {
  const used = approval?.votes.flatMap(({ status, signature }) =>
    status === 'counted' && signature !== null ? [signature.credentialId] : [],
  );
  if (used === undefined || used.length === 0) return command;
  return passkeys.handler.load(passkeysStream(tenant)).then(({ state }) => ({
    ...command,
    removedPasskeys: used.filter((id) => passkeyInForce(state, id) === undefined),
  }));
}

/** The channels whose credential is an identity of the person. */
const byIdentity = ['slack', 'telegram', 'teams', 'mail'];

/**
 * Returns whether the credential of a vote is known to be gone: its token was removed or replaced, or the person has another
 * identity in that channel. That a session or a token of a provider has ended by its time says nothing.
 *
 * Attack: a stolen token votes, and is replaced by a new one of the same person, whose vote would still count.
 */
function isGone(
  { people }: VoterPorts,
  tenant: string,
  { credential, respondedBy }: Vote,
  names: readonly string[],
): boolean {
  if (credential === undefined) return false;
  if (people?.holds?.(tenant, respondedBy, credential) === false) return true;
  const kind = `${credential.split(':', 1)[0] ?? ''}:`;
  if (!byIdentity.includes(kind.slice(0, -1))) return false;
  const same = names.filter((name) => name.startsWith(kind)).map(comparedIdentity);
  return same.length > 0 && !same.includes(comparedIdentity(credential));
}

/**
 * The groups of a voter now; null also where the credential of the vote is gone, or a front end vouched for them, and this process cannot know what it may say. Attack: its
 * token is removed, and the votes of its people count at a deadline.
 */
function groupsOfVoter(
  ports: VoterPorts,
  tenant: string,
  vote: Vote,
  names: readonly string[],
): readonly string[] | null {
  if (isGone(ports, tenant, vote, names)) return null;
  if (ports.people === undefined && isVouched(vote)) return null;
  return groupsNow(ports, tenant, vote.respondedBy, vote);
}

/** Returns whether a front end gave the vote in the name of one of its people. */
function isVouched({ respondedBy, via }: Vote): boolean {
  return personOfFrontEnd(respondedBy)?.frontEnd === via;
}

/**
 * The groups of a person now; null: they are no approver. A person of a front end, and one of the sign-in provider who is away,
 * keep the groups of the vote but those that only files gave. Every person keeps all in a process that knows the policy file alone.
 */
function groupsNow(
  { policies, people }: VoterPorts,
  tenant: string,
  principal: string,
  { groups: voted, groupsOfFiles = [] }: Pick<Vote, 'groups' | 'groupsOfFiles'>,
): readonly string[] | null {
  if (people === undefined) return voted;
  const now = people.approver(tenant, principal);
  if (now === undefined) return null;
  const proven = now.isAway ? voted.filter((group) => !groupsOfFiles.includes(group)) : [];
  const given = [...proven, ...now.groups, ...policies.of(tenant).groupsOf(principal)];
  return boundedGroups(given, now.within);
}
