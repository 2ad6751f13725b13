import type { EventData } from '@countersign/contracts';
import { illegal } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import { groupsAsked } from '../legality/seats.js';
import type { StreamState } from '../legality/streams.js';
import { timeOf } from './acts.js';
import { notInGroups, representedBy } from './groups.js';
import type { RightsRecord } from './record.js';
import type { Word } from './word.js';

type Revealed = EventData<'ValuesRevealed'>;

/** Attack: hidden values are shown to an approver whom no stage asks, neither for themselves nor in the place of another person. */
export function judgeReveal(event: JudgedEvent, before: StreamState | undefined, record: RightsRecord): Judgement {
  const approval = before?.kind === 'call' ? before.approval : null;
  const asked = event.type !== 'ValuesRevealed' || approval === null ? null : groupsAsked(approval);
  const word = asked === null ? undefined : wordAbout(event, asked, record);
  return {
    illegal: typeof word === 'object' ? [word] : [],
    unproven: typeof word === 'string' ? [word] : [],
  };
}

function wordAbout(
  { data, recordedAt }: JudgedEvent,
  asked: readonly string[],
  record: RightsRecord,
): Word | undefined {
  const { revealedBy, revealedAt, credential = '', vouchedBy } = data as Revealed;
  const at = timeOf(revealedAt, recordedAt);
  const own = vouchedBy === undefined ? [revealedBy, ...representedBy(revealedBy, at, record)] : [];
  const words = own.map((by) => notInGroups({ by, at, credential }, asked, record));
  const isGiven = vouchedBy !== undefined && isGivenByFrontEnd(credential, at, asked, record);
  if (isGiven || words.includes(undefined)) return undefined;
  if (!record.isWhole()) return 'unrecorded-rights';
  const doubt = words.find((word) => word !== 'none');
  return doubt ?? illegal('rights', `nothing gave ${revealedBy}, who looks at hidden values, a group that is asked`);
}

/** A front end says itself which groups its people have, of those that its token lists. */
function isGivenByFrontEnd(credential: string, at: string, asked: readonly string[], record: RightsRecord): boolean {
  return record
    .ofCredential(credential, at)
    .some(
      ({ what: { people, more } }) =>
        more !== undefined || people?.groups.some((group) => asked.includes(group)) === true,
    );
}
