import type { Requirement } from '@countersign/contracts';
import type { CallState } from '../legality/call-state.js';
import { illegal } from '../legality/judged-event.js';
import type { Illegal } from '../legality/judged-event.js';
import { compared } from '../legality/names.js';
import type { GrantState } from '../legality/streams.js';
import { notInGroups } from '../rights/groups.js';
import { areOne } from '../rights/one-person.js';
import { isUnlisted } from '../rights/judge-listed.js';
import type { RightsRecord } from '../rights/record.js';
import type { Word } from '../rights/word.js';
import { rankOf } from './compare-requirement.js';

/**
 * Compares the people behind a grant with those whom a rule asks about the call that it covers. Attacks: a person whom the rule does
 * not ask gives the grant, or one who answers their own request, or through a channel that is not sure enough.
 */
export function judgeGivers(
  grant: GrantState,
  { stages, fourEyes, minAssurance, risk }: Requirement,
  { request }: CallState,
  rights: RightsRecord,
): readonly (Word | 'other-names')[] {
  const second = grant.confirmedBy === null ? [] : [grant.confirmedBy];
  const ofRequester = fourEyes ? judgeRequesters([grant.createdBy, ...second], request, rights) : undefined;
  if (ofRequester !== undefined) return [ofRequester];
  const broken = notSure(grant, minAssurance) ?? hasLeft(grant, request, rights);
  if (broken !== undefined) return [broken];
  const asked = stages[0]?.groups ?? null;
  // The groups of the second person count where two people are needed.
  return asked === null ? [] : judgeGroups(grant, asked, { people: risk === 'high' ? second : [], request, rights });
}

function notSure({ assurance }: GrantState, needed: Requirement['minAssurance']): Illegal | undefined {
  return rankOf(assurance) < rankOf(needed)
    ? illegal('grant', `the assurance ${assurance} of the grant is too low`)
    : undefined;
}

function hasLeft(
  { createdBy, isListed }: GrantState,
  { recordedAt }: CallState['request'],
  rights: RightsRecord,
): Illegal | undefined {
  return isListed && isUnlisted(createdBy, recordedAt, rights)
    ? illegal('grant', `${createdBy} has left the approvers of the policy`)
    : undefined;
}

/** Each is still in a group. Those of a sign-in count where the log does not have where they came from. */
function judgeGroups(
  { createdBy, groups }: GrantState,
  asked: readonly string[],
  { people, request, rights }: { people: readonly string[]; request: CallState['request']; rights: RightsRecord },
): readonly Word[] {
  const isOfSignIn = groups.some((group) => asked.includes(group));
  const wordOf = (by: string) => notInGroups({ by, at: request.recordedAt }, asked, rights);
  const ofCreator = wordOf(createdBy);
  const isLeft = isOfSignIn && (ofCreator !== 'none' || rights.hasNotifier());
  return [
    ...(isLeft ? [] : [{ by: createdBy, word: ofCreator }]),
    ...people.map((by) => ({ by, word: wordOf(by) })),
  ].flatMap(({ by, word }) =>
    word === 'none' ? [illegal('grant', `nothing gave ${by} a group that the rule asks`)] : (word ?? []),
  );
}

/** A grant covers no request of its own people, under any of the names that the policy gives them. */
function judgeRequesters(
  givers: readonly string[],
  { requesters, recordedAt }: CallState['request'],
  rights: RightsRecord,
): Illegal | 'other-names' | undefined {
  const own = givers.find((name) => requesters.includes(compared(name)));
  if (own !== undefined) return illegal('four-eyes', `the grant is of ${own}, whose own request it covers`);
  const pairs = givers.flatMap((name) => requesters.map((other) => areOne(name, other, recordedAt, rights)));
  if (!pairs.includes('all')) return pairs.includes('some') ? 'other-names' : undefined;
  return illegal('four-eyes', `the grant is of ${givers.join(' and ')}, whose own request it covers by the policy`);
}
