import { personOfFrontEnd } from '@countersign/contracts';
import { illegal } from '../legality/judged-event.js';
import type { Act } from './acts.js';
import { isOfProvider } from './providers.js';
import type { ListedPeople, PolicyPerson, RightsRecord } from './record.js';
import { graceMs } from './timeline.js';
import type { Word } from './word.js';

/**
 * Compares the groups that a response or a grant counted with. They are those of all places together: the tokens file, the
 * channels file and the policy. A delegate has those of the person in whose place they respond.
 */
export function judgeGroups(act: Act, record: RightsRecord): readonly Word[] {
  const { groups = [], onBehalfOf = null, by } = act;
  const owner = onBehalfOf ?? by;
  const asDelegate = onBehalfOf === null ? [] : judgeDelegation(act, onBehalfOf, record);
  // What a front end gives is judged with its credential: it says itself which groups its people have.
  if (act.vouchedBy !== undefined && onBehalfOf === null) return [];
  const missing = groups.find((group) => !isGiven(act, owner, group, record));
  if (missing === undefined) return asDelegate;
  return [
    ...asDelegate,
    instead(act, owner, record) ?? illegal('rights', `nothing gave ${owner} the group ${missing}`),
  ];
}

/** Why a person may not have been in one of these groups, or is not known to; undefined: something gave them one. */
export function notInGroups(
  { by, at, credential }: Pick<Act, 'by' | 'at' | 'credential'>,
  groups: readonly string[],
  record: RightsRecord,
): Word | 'none' | undefined {
  if (!record.isWhole()) return 'unrecorded-rights';
  const proof = credential === undefined ? {} : { credential };
  const act = { by, at, needs: null, isOfAgents: false, isOfProgram: false, endedPeople: [], ...proof };
  if (groups.some((group) => isGiven(act, by, group, record))) return undefined;
  return instead(act, by, record) ?? 'none';
}

/** The people in whose place the policy lets a person respond at a time. */
export function representedBy(by: string, at: string | null, record: RightsRecord): readonly string[] {
  const all = record.policies(at).flat();
  return all.flatMap(({ id, delegates }) => (delegates.some((one) => isDelegate(one, by, at)) ? [id] : []));
}

function isDelegate({ to, from, until }: PolicyPerson['delegates'][number], by: string, at: string | null): boolean {
  return to === by && isWithin(at, from, until);
}

function isGiven({ at, credential }: Act, owner: string, group: string, record: RightsRecord): boolean {
  const byTokens = record.ofPerson(owner, at).some(({ what }) => {
    // A grant has the groups of its own credential.
    const counts = what.roles.includes('approver') || what.credential === credential;
    return counts && what.groups.includes(group);
  });
  return (
    byTokens ||
    record.people(at).some((list) => isListed(list, owner, group)) ||
    record.policies(at).some((people) => people.some(({ id, groups }) => id === owner && groups.includes(group)))
  );
}

function isListed({ lines }: ListedPeople, owner: string, group: string): boolean {
  return lines.some((line) => line.startsWith(`${owner} `) && `${line.slice(owner.length)} `.includes(` ${group} `));
}

/** Why it cannot be said that a person had not a group; undefined: it can. */
function instead(act: Act, owner: string, record: RightsRecord): Word | undefined {
  const { at } = act;
  const isCut = record.ofPerson(owner, at).some(({ what }) => what.more !== undefined);
  if (isCut || record.people(at).some((list) => list.isCut)) return 'unrecorded-rights';
  if (isOfProvider(owner, record)) return 'provider-rights';
  return isOfNotifier(act, record) ? 'notifier-rights' : undefined;
}

/** A notifier receives answers of chats, and knows people by a policy file that only the gateways record. */
export function isOfNotifier(
  { credential = '' }: { readonly credential?: string | undefined },
  record: RightsRecord,
): boolean {
  return record.hasNotifier() && /^(?:slack|telegram|teams|mail):/.test(credential);
}

/** The policy says who responds in whose place, and when. The represented person must be an approver. */
export function judgeDelegation(
  act: Pick<Act, 'by' | 'at' | 'credential'>,
  represented: string,
  record: RightsRecord,
): readonly Word[] {
  const { by, at } = act;
  const isApprover =
    isOfProvider(represented, record) ||
    isOfFrontEnd(represented, at, record) ||
    record.ofPerson(represented, at).some(({ what }) => what.roles.includes('approver'));
  const delegations = record
    .policies(at)
    .flat()
    .filter(({ id }) => id === represented)
    .flatMap(({ delegates }) => delegates);
  const isNamed = delegations.some((one) => isDelegate(one, by, at));
  if (isApprover && isNamed) return [];
  if (isApprover && isOfNotifier(act, record)) return ['notifier-rights'];
  const why = isApprover ? `no policy let ${by} respond in place of ${represented}` : `${represented} was no approver`;
  return [illegal('rights', why)];
}

function isOfFrontEnd(principal: string, at: string | null, record: RightsRecord): boolean {
  const person = personOfFrontEnd(principal);
  if (person === undefined) return false;
  return record.ofPerson(person.frontEnd, at).some(({ what }) => what.roles.includes('front-end'));
}

function isWithin(at: string | null, from: unknown, until: unknown): boolean {
  const [atMs, fromMs, untilMs] = [at, from, until].map((time) => Date.parse(String(time)));
  if (atMs === undefined || fromMs === undefined || untilMs === undefined) return false;
  return fromMs <= atMs + graceMs && atMs - graceMs < untilMs;
}
