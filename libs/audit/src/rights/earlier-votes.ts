import { personOfFrontEnd } from '@countersign/contracts';
import type { CallState, CountedVote } from '../legality/call-state.js';
import { illegal, isOfVersion1 } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import type { Response } from '../legality/proposal.js';
import { agreeing, isSatisfied } from '../legality/seats.js';
import type { KnownStreams, StreamState } from '../legality/streams.js';
import { isBeforeBy, storedAfter } from '../legality/times.js';
import { timeOf } from './acts.js';
import type { Act } from './acts.js';
import { judgeDelegation, notInGroups } from './groups.js';
import type { RightsRecord } from './record.js';
import { graceMs } from './timeline.js';

interface Known {
  readonly rights: RightsRecord;
  readonly streams: KnownStreams;
}

/** What is known when a vote decides. */
interface Decision extends Known {
  readonly tenant: string;
  /** When it is, by what it says, or by its record where that is before. */
  readonly at: string;
  readonly recordedAt: string;
  readonly by: string;
  /** A notifier knows people by a policy file that no process records. */
  readonly credential: string | undefined;
}

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * Counts the votes before the one that decides once more, with what their people have then. Law 8: votes are counted at the
 * decision. Attack: a person votes, the policy takes their group or their delegation away or their passkey is removed, and the
 * last vote decides with theirs.
 */
export function judgeEarlierVotes(event: JudgedEvent, after: StreamState, known: Known): Judgement {
  const { resolution, automatic, respondedAt, respondedBy, credential } = event.data as Response;
  const decides = event.type === 'ApprovalResponded' && resolution === 'approved' && !automatic;
  if (!decides || after.kind !== 'call' || isOfVersion1(event)) return legal;
  const { recordedAt } = event;
  const { tenant } = event.metadata;
  const decision = {
    ...{ ...known, tenant, at: timeOf(respondedAt, recordedAt), recordedAt, by: respondedBy, credential },
  };
  if (isEnough(after, decision, 0)) return isEnough(after, decision, graceMs) ? legal : listed;
  return {
    illegal: [
      illegal('vote', 'it decides with a vote whose person has lost the group, the delegation or the passkey of it'),
    ],
    unproven: [],
  };
}

const listed: Judgement = { illegal: [], unproven: ['earlier-votes'] };

/**
 * Returns whether the votes that still count are enough.
 * @param sinceMs 0: what ended less than 15 minutes before may still hold, since the request may have begun before it; with these
 * 15 minutes it does not.
 */
function isEnough({ approval }: CallState, decision: Decision, sinceMs: number): boolean {
  if (approval === null) return true;
  const votes = agreeing(approval).flatMap((vote) =>
    vote.by === decision.by ? [vote] : stillCounted(vote, decision, sinceMs),
  );
  return isSatisfied({ ...approval, votes });
}

/** The vote with the groups that its person still has; none: it does not count any more. */
function stillCounted(vote: CountedVote, decision: Decision, sinceMs: number): readonly CountedVote[] {
  if (isUnsigned(vote, decision, sinceMs)) return [];
  const { given } = vote;
  const { rights, at, credential } = decision;
  if (given === undefined || !rights.isWhole()) return [vote];
  const now = { at: storedAfter(at, sinceMs), ...(credential !== undefined && { credential }) };
  if (given.isDelegate && !mayRepresent(vote, now, rights)) return [];
  const isLost = (group: string): boolean =>
    given.groups.includes(group) && inGroup(vote, group, now, rights) === 'none';
  return [{ ...vote, groups: vote.groups.filter((group) => !isLost(group)) }];
}

type When = Pick<Act, 'at' | 'credential'>;

/** A delegate has the groups of the person in whose place they respond. */
function inGroup({ by, onBehalfOf }: CountedVote, group: string, when: When, rights: RightsRecord): Given {
  return notInGroups({ by: onBehalfOf ?? by, ...when }, [group], rights);
}

type Given = ReturnType<typeof notInGroups>;

function mayRepresent({ by, onBehalfOf }: CountedVote, when: When, rights: RightsRecord): boolean {
  return judgeDelegation({ by, ...when }, String(onBehalfOf), rights).every((word) => typeof word === 'string');
}

/**
 * The call with what the log of record gives the person of a vote now. What it did not give is found there, or listed, and is not
 * lost later. Of a person of a front end it has no groups: the front end says itself which they are.
 */
export function withGiven(event: JudgedEvent, after: StreamState, rights: RightsRecord): StreamState {
  const { automatic, respondedBy, respondedAt, credential } = event.data as Response;
  if (event.type !== 'ApprovalResponded' || automatic || after.kind !== 'call' || !rights.isWhole()) return after;
  if (after.approval === null) return after;
  const when = { at: timeOf(respondedAt, event.recordedAt), ...(credential !== undefined && { credential }) };
  const votes = after.approval.votes.map((vote) => {
    if (vote.by !== respondedBy || (vote.onBehalfOf === null && personOfFrontEnd(vote.by) !== undefined)) return vote;
    const groups = vote.groups.filter((group) => inGroup(vote, group, when, rights) === undefined);
    return { ...vote, given: { groups, isDelegate: vote.onBehalfOf !== null && mayRepresent(vote, when, rights) } };
  });
  return { ...after, approval: { ...after.approval, votes } };
}

/** Returns whether the passkey of a signed vote had been removed. */
function isUnsigned({ passkey }: CountedVote, { streams, tenant, recordedAt }: Decision, sinceMs: number): boolean {
  const passkeys = streams.get(`passkeys-${tenant}`)?.state;
  if (passkey === null || passkeys?.kind !== 'passkeys' || !Object.hasOwn(passkeys.keys, passkey)) return false;
  const { removedAt } = passkeys.keys[passkey] ?? {};
  return removedAt !== undefined && (sinceMs > 0 || isBeforeBy(graceMs, removedAt, recordedAt));
}
