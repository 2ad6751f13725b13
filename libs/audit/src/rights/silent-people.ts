import type { EventData } from '@countersign/contracts';
import type { ApprovalState, CallState, CountedVote } from '../legality/call-state.js';
import { illegal } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import { compared } from '../legality/names.js';
import { agreeing, isSatisfied } from '../legality/seats.js';
import { strictSilenceSince } from '../legality/silence.js';
import type { StreamState } from '../legality/streams.js';
import { timeOf } from './acts.js';
import type { RightsRecord } from './record.js';

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * Silence means something where people are left who could object. Attack: the people of a rule are removed or lose its group, nobody
 * answers, and the rule approves. Whoever lost their place less than 15 minutes before counts.
 */
export function judgeSilentPeople(
  event: JudgedEvent,
  before: StreamState | undefined,
  rights: RightsRecord,
): Judgement {
  const { type, data, recordedAt } = event;
  if (type !== 'ApprovalResponded' || before?.kind !== 'call' || before.approval === null) return legal;
  const { automatic, respondedAt } = data as EventData<'ApprovalResponded'>;
  if (!automatic) return legal;
  const at = timeOf(respondedAt, recordedAt);
  const votes = [...agreeing(before.approval), ...possibleVotes(before.approval, before.request, at, rights)];
  if (isSatisfied({ ...before.approval, votes })) return legal;
  const isFound = isAllKnown(at, rights) && recordedAt >= strictSilenceSince;
  return isFound
    ? { illegal: [illegal('silence', 'too few people were left who could respond')], unproven: [] }
    : { illegal: [], unproven: ['silent-people'] };
}

/** A vote of each approver who has not voted and may, as the log of record knows them. */
function possibleVotes(
  { votes, proposal, number }: ApprovalState,
  { requesters }: CallState['request'],
  at: string,
  rights: RightsRecord,
): readonly CountedVote[] {
  const hasFourEyes = proposal.requirements.every(({ fourEyes }) => fourEyes);
  const isOut = (name: string): boolean =>
    (hasFourEyes && requesters.includes(compared(name))) || votes.some(({ by }) => by === name);
  const seats = proposal.requirements.flatMap(({ stages }) =>
    stages.map(({ approve, groups }) => Math.max(approve, groups?.length ?? 0)),
  );
  return [...approversOf(at, rights).filter(({ by }) => !isOut(by)), ...crowdsOf(at, rights, sum(seats))].map(
    (one) => ({
      ...{ ...one, onBehalfOf: null, agrees: true, proposal: number },
      ...{ instruction: null, stage: 0, at, passkey: null },
    }),
  );
}

type Person = Pick<CountedVote, 'by' | 'groups'>;

/** Approvers have the groups of all of their credentials, of the channels file and of the policy. */
function approversOf(at: string, rights: RightsRecord): readonly Person[] {
  const able = rights.credentials(at).filter(({ roles }) => roles.includes('approver'));
  const lines = rights.people(at).flatMap((list) => list.lines);
  // Attack: a process goes on to say that it has a policy before the last one, which gave somebody the group.
  const ofPolicy = rights.activated(at).flat();
  return [...new Set(able.map(({ principal }) => principal))].map((by) => ({
    by,
    groups: [
      ...able.filter(({ principal }) => principal === by).flatMap(({ groups }) => groups),
      ...lines.filter((line) => line.startsWith(`${by} `)).flatMap((line) => line.slice(by.length + 1).split(' ')),
      ...ofPolicy.filter(({ id }) => id === by).flatMap(({ groups }) => groups),
    ],
  }));
}

/** Each front end has any number of people, with the groups that it may give. */
function crowdsOf(at: string, rights: RightsRecord, seats: number): readonly Person[] {
  return rights
    .credentials(at)
    .flatMap(({ principal: by, people }) =>
      people === undefined ? [] : Array.from({ length: seats }, () => ({ by, groups: people.groups })),
    );
}

/** Returns whether no provider, no list that was cut and no process without a record of its files gives a person the right to respond. */
function isAllKnown(at: string, rights: RightsRecord): boolean {
  const isCut =
    rights.people(at).some((list) => list.isCut) || rights.credentials(at).some(({ more }) => more !== undefined);
  return rights.isWhole() && rights.issuers().size === 0 && !isCut && !rights.hasProjector();
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}
