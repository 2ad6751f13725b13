import type { EventData } from '@countersign/contracts';
import type { CallState } from '../legality/call-state.js';
import { illegal, isOfVersion1 } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import { compared, folded, isSameFolded, peopleOf } from '../legality/names.js';
import { strictest } from '../legality/proposal.js';
import type { StreamState } from '../legality/streams.js';
import { isOfNotifier } from './groups.js';
import type { PolicyPerson, RightsRecord } from './record.js';

/** Two names that may not be of one person, and what it breaks that they are. */
interface Pair {
  readonly name: string;
  readonly other: string;
  readonly rule: 'vote' | 'four-eyes';
  readonly detail: string;
}

/** A name in the form in which it is compared. */
type Form = (name: string) => string;

/**
 * Compares the names of people with the policy that was in force. Attack: the owner of the log writes two votes of one person, or one
 * for their own request, under names of which the policy in the log says that they are one person's.
 */
export function judgeNames(
  event: JudgedEvent,
  before: StreamState | undefined,
  after: StreamState,
  record: RightsRecord,
): Judgement {
  const { pairs, at, credential } = pairsOf(event, before, after);
  const isKnownHere = !isOfVersion1(event) && !isOfNotifier({ credential }, record);
  const words = pairs.map(({ name, other, rule, detail }) => {
    const one = areOne(name, other, at, record);
    if (one === 'none') return undefined;
    return isKnownHere && one === 'all' ? illegal(rule, `${name} is ${other} by the policy, ${detail}`) : 'other-names';
  });
  return {
    illegal: words.filter((word) => typeof word === 'object').slice(0, 1),
    unproven: words.filter((word) => typeof word === 'string').slice(0, 1),
  };
}

interface Pairs {
  readonly pairs: readonly Pair[];
  readonly at: string | null;
  readonly credential?: string | undefined;
}

function pairsOf(event: JudgedEvent, before: StreamState | undefined, after: StreamState): Pairs {
  if (event.type === 'ApprovalResponded' && before?.kind === 'call' && after.kind === 'call') {
    return ofResponse(event.data as EventData<'ApprovalResponded'>, before, after);
  }
  if (event.type !== 'GrantConfirmed' || before?.kind !== 'grant') return { pairs: [], at: null };
  const { confirmedBy, confirmedAt, credential } = event.data as Confirmed;
  return {
    pairs: pair([confirmedBy], [before.createdBy], 'four-eyes', 'whose grant it is'),
    at: confirmedAt,
    credential,
  };
}

interface Confirmed {
  readonly confirmedBy: string;
  readonly confirmedAt: string;
  readonly credential?: string;
}

function ofResponse(
  response: EventData<'ApprovalResponded'>,
  before: CallState,
  { request, approval }: CallState,
): Pairs {
  const { automatic, endedVotes = [], proposal, respondedAt, credential } = response;
  if (automatic || approval === null) return { pairs: [], at: null };
  const own = peopleOf({ by: response.respondedBy, onBehalfOf: response.onBehalfOf });
  const ended = endedVotes.map(compared);
  // A denial of an earlier proposal counts on, unless its person ends it by another vote.
  const votes = (before.approval?.votes ?? []).filter((vote) => vote.proposal === proposal || !vote.agrees);
  const counted = votes.filter(({ by }) => !ended.includes(compared(by)));
  const votersOf = (isSame: boolean) =>
    counted.filter((vote) => (vote.proposal === proposal) === isSame).flatMap(peopleOf);
  const { fourEyes } = strictest(approval.proposal.requirements);
  const requesters = fourEyes ? [...request.requesters, approval.requestedBy] : [];
  return {
    pairs: [
      ...pair(own, votersOf(true), 'vote', 'who has a vote for this proposal already'),
      ...pair(own, votersOf(false), 'vote', 'whose denial of an earlier proposal counts on beside it'),
      ...pair(own, requesters, 'four-eyes', 'whose request it is'),
    ],
    at: respondedAt,
    credential,
  };
}

/** Names that are one without a policy have rules of their own. */
function pair(own: readonly string[], others: readonly string[], rule: Pair['rule'], detail: string): readonly Pair[] {
  return own.flatMap((name) =>
    others.filter((other) => !isSameFolded(name, other)).map((other) => ({ name, other, rule, detail })),
  );
}

/** Whether two names are one person's by the policies that may have been in force: by all, by some, or by none. */
export function areOne(name: string, other: string, at: string | null, record: RightsRecord): 'all' | 'some' | 'none' {
  const policies = record.policies(at);
  const isOne = (form: Form) => (people: readonly PolicyPerson[]) => namesOf(name, people, form).has(form(other));
  if (!policies.some(isOne(folded))) return 'none';
  return policies.every(isOne(compared)) ? 'all' : 'some';
}

/** All names of the person with a name. One that an entry of the policy adds may be a name in another entry. */
function namesOf(name: string, people: readonly PolicyPerson[], form: Form): ReadonlySet<string> {
  const found = new Set([form(name)]);
  // A set that grows is walked to its new end.
  for (const one of found) {
    for (const { id, identities } of people) {
      const names = [id, ...identities].map(form);
      if (names.includes(one)) for (const other of names) found.add(other);
    }
  }
  return found;
}
