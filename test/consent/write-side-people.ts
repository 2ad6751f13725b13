import { endVotes, refused } from '@countersign/commands';
import type { Actor, CommandPorts, Result, Role } from '@countersign/commands';
import { currentApproval } from '@countersign/domain';
import type { Defence } from './defences.ts';
import type { Agent, Command } from './words.ts';
import type { Tokens, World } from './write-side-world.ts';
import { deskPeople, isOfDesk, people, toldOf, unsure } from './world.ts';

const actor = (principal: string, role: Role, agentIds: readonly string[] = []): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role]), groups: [] },
  ...{ agentIds, via: 'api', assurance: 'medium' },
});

/** The second principal may take the name of any agent. */
export const agents: Readonly<Record<Agent, Actor>> = {
  agent: actor('agent', 'agent'),
  other: actor('other', 'agent', ['*']),
};
export const [worker, admin] = [actor('worker', 'resolver'), actor('admin', 'admin')];

const credentialOf = ({ renewed }: Tokens, principal: string): string => {
  const holder = isOfDesk(principal) ? 'desk' : principal;
  return `token:${holder}-${String(renewed.get(holder) ?? 0)}`;
};

/** A person with their token as it is now, or with that of the front end that speaks for them. */
export function personOf(tokens: Tokens, principal: string, without: Defence | null = null): Actor {
  const person = { ...actor(principal, 'approver'), credential: credentialOf(tokens, principal) };
  const ofDesk = deskPeople[principal];
  if (ofDesk === undefined) return { ...person, assurance: principal === unsure ? 'low' : 'medium' };
  const { desk } = tokens;
  return {
    ...{ ...person, via: 'desk', assurance: ofDesk.assurance, groups: toldOf(principal, desk ?? []) },
    vouchedBy: 'desk',
    ...(without !== 'groups-of-desk' && { groupsWithin: desk ?? [] }),
  };
}

/** Whether a person has no token, or the front end that speaks for them has none. */
export const isGone = ({ removed, desk }: Tokens, principal: string): boolean =>
  isOfDesk(principal) || principal === 'desk' ? desk === null : removed.has(principal);

/** Those who can be asked now. */
export const everybody = (tokens: Tokens): readonly string[] =>
  [...Object.keys(people), ...Object.keys(deskPeople)].filter((one) => !isGone(tokens, one));

/** The facts about people, as the tokens file says them. */
export function peopleOf(tokens: Tokens, without: Defence | null): NonNullable<CommandPorts['people']> {
  const ofDesk = () => {
    const known = { groups: [], isAway: true, signedIn: [] };
    return without === 'groups-of-desk' ? known : { ...known, within: tokens.desk ?? [] };
  };
  return {
    approver: (_, principal) => {
      if (isGone(tokens, principal)) return undefined;
      if (isOfDesk(principal)) return ofDesk();
      return people[principal] && { groups: people[principal], isAway: false };
    },
    approvers: () => Object.keys(people).filter((one) => !isGone(tokens, one)),
    crowds: () => (tokens.desk === null ? [] : [tokens.desk]),
    holds: (_, principal, credential) =>
      without === 'credentials-now' || credential === credentialOf(tokens, principal),
    names: () => [],
  };
}

/** Changes the token of the front end. */
export function changeDesk({ tokens }: Pick<World, 'tokens'>, command: Extract<Command, { type: 'desk' }>): void {
  switch (command.does) {
    case 'open':
      tokens.desk = command.groups;
      tokens.renewed.set('desk', (tokens.renewed.get('desk') ?? 0) + 1);
      return;
    case 'narrow':
      tokens.desk = tokens.desk?.filter((group) => command.groups.includes(group)) ?? null;
      return;
    case 'close':
      tokens.desk = null;
  }
}

/** Ends the votes of a person of the front end on all calls, as the gateway does one by one. */
export async function endPerson(
  { ports, calls, stateOf, nextId, without }: World,
  { person, by }: Extract<Command, { type: 'end-person' }>,
): Promise<Result<unknown> | null> {
  for (const call of without === 'ended-people' ? [] : calls) {
    const state = await stateOf(call);
    const approval = state && currentApproval(state);
    if (approval?.resolution.status !== 'pending') continue;
    const who = by === 'admin' ? admin : actor('desk', 'front-end');
    const { approvalId } = approval;
    const ended = await endVotes(ports, who, { approvalId, of: person }, nextId());
    if (ended.status === 'refused' && ended.refusal.code !== 'unknown-approval') return refused(ended.refusal.code, '');
  }
  return null;
}
