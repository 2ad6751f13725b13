import type { Unproven } from '../legality/judged-event.js';

/** `moved`: with the note of a move to another store. `outside`: of another time than is asked for. `commitment`: an event of which the source has the entry alone. */
type Counted = Unproven | 'outside' | 'commitment' | 'moved';

/** Counts what could not be proven about single events. */
export interface UnprovenCounts {
  readonly add: (what: Counted, index: number) => void;
  readonly sentences: (unrecordedPolicies: readonly string[]) => readonly string[];
}

/** Nothing is counted yet. */
export function createUnproven(): UnprovenCounts {
  const counts = new Map<Counted, number>();
  const commitments: number[] = [];
  return {
    add: (what, index) => {
      counts.set(what, (counts.get(what) ?? 0) + 1);
      if (what === 'commitment' && commitments.length < namedMax) commitments.push(index);
    },
    sentences: (policies) => [
      ...[...counts].map(
        ([what, count]) =>
          `${events(count)} ${words[what]}${what === 'commitment' ? placesOf(commitments, count) : ''}`,
      ),
      ...(policies.length === 0
        ? []
        : [
            `the content of ${policies.length === 1 ? '1 cited policy' : `${String(policies.length)} cited policies`} is not in the log: ${policies.slice(0, 3).join(', ')}`,
          ]),
      identity,
      told,
    ],
  };
}

const words: Readonly<Record<Counted, string>> = {
  'sealed-values': 'with sealed or erased values: their action or proposal digest was not recomputed',
  'argument-schema': 'with arguments whose schema was not compared whole: whether they fit all that it says',
  'passkey-by-sign-in': 'about passkeys that count by a sign-in alone: compare their public keys with their owners',
  'hidden-card': 'with the signature of a card that has hidden values: the card was not recomputed',
  'ended-votes':
    'that ended votes of other names: whether those people had lost the right, or are the same person, was not checked',
  'folded-names':
    'of people whose names differ in letters that only the full case folding of Unicode makes one: an older version counted them as two people',
  'other-names':
    'of people who are one by some of the policies that may have been in force, or in letters that only the full case folding of Unicode makes one: they counted as two people',
  'grant-condition': 'permitted by a grant with a condition on the arguments: it was not evaluated',
  'older-rules': 'of an older schema version after newer ones: judged by the rules of that version, which were weaker',
  'unrecorded-rights':
    'of people and programs whose credentials are in no record of the tokens file that was shown: their rights were not checked',
  'provider-rights': 'of people whose roles or groups an OIDC provider gave: the log does not have what it said',
  'notifier-rights':
    'of people whose groups may be those of the policy file of a notifier: no process records that file for it',
  'ledger-rights':
    'of programs that may have sent requests over Kafka: no process records the keys file of their senders',
  'no-credential': 'of people that name no credential: which one it was',
  'late-record': 'recorded long after the person had lost the right: that they are as old as they say',
  'other-time': 'recorded more than 15 minutes after the time that they say: whether they are as old',
  'place-in-run':
    'of a claim that names fewer calls of its run than were recorded before it, or whose run was not shown whole: its number for a receipt',
  'step-apart':
    'of calls whose step has others that were recorded apart, such as after a crash, or that were not shown: whether a rule that binds the step, or asks about all of it, passed over one',
  'run-over':
    'by which calls were approved, began to run or were covered by a grant of their run after it was cancelled with them, a denial had ended it, or a call around them was cancelled: whether a person or a worker was first, or the cancellation was never carried out',
  'inside-cancelled':
    'that are requests inside a call that had been cancelled less than 15 minutes before: whether that was known',
  'known-loss':
    'that are requests after a restore, which a rule may allow where an admin of the tenant default knew of the loss: that is in the log of default alone',
  'off-time':
    'with a time more than two seconds after their record, or before the record of the event before them in their call, or of requests two seconds before their own: which one is right',
  'past-end':
    'that say that they happened before a deadline or the end of a grant, and were recorded more than two seconds after it: whether they were in time',
  'earlier-votes':
    'that decide with a vote whose person lost a group of it, a delegation or the passkey less than 15 minutes before: whether it still counted',
  'batch-begin':
    'by which batches began after people were asked about a member, or more than two seconds after the right to run of a member had ended: whether that was known',
  'past-stop':
    'that say that they happened before a stop, and were recorded more than three seconds after it: whether they were in time',
  'under-stop':
    'of questions, places, time limits and begins of batches that a stop holds back: why they came all the same',
  'silence-time':
    'approved by silence: whether people could respond all the time, of which the log has the starts of a standalone server alone',
  'early-silence':
    'approved by silence whose record is up to two seconds before its deadline: whether a clock was wrong, or people had less time',
  'late-silence':
    'approved by silence whose record is more than twelve seconds after its deadline, though they say less: whether the service was away',
  'late-start':
    'approved by silence, where a start of the server that says it was before the question was recorded after it: whether the service ran all the time',
  'silent-people':
    'approved by silence, where the log knows too few people whom the rule asks: whether others could respond',
  'set-back':
    'recorded with a time more than 15 minutes before that of an event before them: a clock was wrong, or a time is a lie',
  'set-aside': 'after an event of their stream that cannot be read or was not shown: not judged',
  'leans-on-set-aside': 'permitted by a grant or a call that was not judged: whether it permits them was not checked',
  'policy-condition':
    'whose verdict depends on expressions of its policy: they were not evaluated, and the rules before the one that decided may match',
  'unread-policy':
    'whose verdict cites a policy that was not shown, or that a later version wrote: they were not compared',
  'unplaced-policy': 'whose verdict cites a policy of which the source does not show whether it was in force',
  'earlier-policy':
    'judged by a policy that was not the last one: another process had it in force, or it had ended less than 15 minutes before',
  wished:
    'that ask for less time, or permit fewer decisions, than their rule: that the request wished for it is not recorded',
  'older-edit': 'of schema version 1 with an edit: only the stages of its rule were compared',
  'asked-with-step':
    'about calls of which people were asked because a rule asks about another call of their step: which one was not compared',
  'turn-order':
    'that gave a sequential call its turn: whether the calls before it were settled, only the whole log can show',
  'outer-call': 'inside a call that was not judged or not shown: whose request that is was not compared',
  commitment: 'held as commitments only: their content was not shown, and not judged',
  moved: 'that were moved from another store: the time of the move is in no hash; the first record is',
  outside: 'outside of --from and --to: not judged by themselves',
};

const told =
  'that what no rule compares is true: words, outputs, and what the service says of its processes, messages and readers (docs/audit.md has each)';
const identity = 'that each person is who the sign-in or the chat said, and used their own credential';

function events(count: number): string {
  return count === 1 ? '1 event' : `${String(count)} events`;
}

const namedMax = 10;

function placesOf(indexes: readonly number[], count: number): string {
  return ` (index ${indexes.join(', ')}${count > indexes.length ? ', …' : ''})`;
}
