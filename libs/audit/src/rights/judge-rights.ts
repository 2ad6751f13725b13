import { personOfFrontEnd } from '@countersign/contracts';
import { illegal } from '../legality/judged-event.js';
import type { JudgedEvent, Judgement } from '../legality/judged-event.js';
import { mayEnd } from '../legality/names.js';
import type { StreamState } from '../legality/streams.js';
import { isBeforeBy } from '../legality/times.js';
import { actsOf } from './acts.js';
import type { Act } from './acts.js';
import { judgeGroups } from './groups.js';
import { judgeProgram } from './programs.js';
import { isOfProvider, issuerOf } from './providers.js';
import type { RightsRecord } from './record.js';
import { graceMs } from './timeline.js';
import type { Word } from './word.js';

/**
 * Compares what a person did with the log of record. Attack: the owner of the log writes a vote of a person with groups or a
 * credential that they never had. It breaks no other rule: the vote itself says what it counted with. `state` is that of the
 * stream before the event.
 */
export function judgeRights(event: JudgedEvent, record: RightsRecord, state: StreamState | undefined): Judgement {
  const ofActs = actsOf(event, state).flatMap((act) => [
    ...(isOfOtherTime(act, event) ? (['other-time'] as const) : []),
    ...(record.isWhole()
      ? [...judgeNow(act, record), ...ifLate(act, event, record)]
      : (['unrecorded-rights'] as const)),
  ]);
  const words: readonly Word[] = [...ofActs, ...(isOldReport(event) ? (['other-time'] as const) : [])];
  return {
    illegal: words.filter((word) => typeof word === 'object'),
    unproven: [...new Set(words.filter((word) => typeof word === 'string'))],
  };
}

/** Attack: the owner of the log gives an act a time at which its deadline was not over. */
function isOfOtherTime({ at }: Act, { recordedAt }: JudgedEvent): boolean {
  return at !== null && isBeforeBy(graceMs, at, recordedAt);
}

/** Attack: a report gets a time at which its lease was not over, so that it is recorded as in time. */
function isOldReport({ data, recordedAt }: JudgedEvent): boolean {
  const { reportedAt } = data as { readonly reportedAt?: unknown };
  return typeof reportedAt === 'string' && isBeforeBy(graceMs, reportedAt, recordedAt);
}

/** Attack: a person who has lost a right does something with a time before that. */
function ifLate(act: Act, { recordedAt }: JudgedEvent, record: RightsRecord): readonly Word[] {
  if (act.at === null || isFound(judgeAct(act, record))) return [];
  return isFound(judgeAct({ ...act, at: recordedAt }, record)) ? ['late-record'] : [];
}

/** A vote that was not legal when it was given is found there. */
function judgeNow(act: Act, record: RightsRecord): readonly Word[] {
  const { votedAt } = act;
  return votedAt !== undefined && isFound(judgeAct({ ...act, at: votedAt }, record)) ? [] : judgeAct(act, record);
}

function judgeAct(act: Act, record: RightsRecord): readonly Word[] {
  if (act.isOfProgram) return judgeProgram(act, record);
  const ofCredential = judgeCredential(act, record);
  return isFound(ofCredential) ? ofCredential : [...ofCredential, ...judgeGroups(act, record)];
}

function isFound(words: readonly Word[]): boolean {
  return words.some((word) => typeof word === 'object');
}

/** Attack: a vote names a front end that did not prove it, because the groups of its people are judged with its token alone. */
function judgeCredential(act: Act, record: RightsRecord): readonly Word[] {
  const { credential, vouchedBy } = act;
  if (vouchedBy !== undefined && credential?.startsWith('token:') !== true)
    return [illegal('rights', `only the token of a front end vouches for people: ${vouchedBy}`)];
  if (credential === undefined) return act.isOfAgents ? ['no-credential'] : ['no-credential', ...ofPerson(act, record)];
  const kind = credential.slice(0, credential.indexOf(':'));
  if (isTooSure(act, kind)) return [illegal('rights', `${kind} through ${String(act.via)} gives less assurance`)];
  switch (kind) {
    case 'token':
      return ofToken(act, credential, record);
    case 'oidc':
      return ofProvider(act, credential, record);
    case 'passkey':
      return ofPasskey(act, credential, record);
    case 'slack':
    case 'telegram':
    case 'teams':
    case 'mail':
      return [...ofChannel(act, kind, record), ...ofPerson(act, record)];
    default:
      return [illegal('rights', `${credential} is no credential`)];
  }
}

/** A response through Telegram or an MCP client is of the assurance `low`, unless its person signs it. */
function isTooSure({ via, signature, assurance }: Act, kind: string): boolean {
  const isUnsure = kind === 'telegram' || (via === 'mcp' && (kind === 'token' || kind === 'oidc'));
  return isUnsure && signature === undefined && levelOf(assurance) > 0;
}

function ofToken(act: Act, credential: string, record: RightsRecord): readonly Word[] {
  const { by, vouchedBy } = act;
  const inForce = record.ofCredential(credential, act.at);
  if (inForce.length === 0) return [illegal('rights', notInForce(credential, record))];
  if (vouchedBy !== undefined) return ofFrontEnd(act, credential, inForce);
  const own = inForce.filter(({ what }) => what.principal === by);
  if (own.length === 0) {
    return [
      illegal('rights', `${credential} is a credential of ${String(inForce[0]?.what.principal)}, and not of ${by}`),
    ];
  }
  const able = own.filter(({ what }) => hasRoles(act, what.roles));
  if (able.length === 0) return [illegal('rights', `${credential} had not the roles: ${rolesOf(act)}`)];
  if (isOfOthers(act)) return [illegal('rights', `${by} may not end the votes of ${String(act.castBy)}`)];
  const isAssured = able.some(({ what: { maxAssurance = 'high' } }) => levelOf(act.assurance) <= levelOf(maxAssurance));
  return isAssured ? [] : [illegal('rights', `${credential} gives less assurance than ${String(act.assurance)}`)];
}

/**
 * Attack: a front end, or an admin, ends the vote of a person who signs in themselves. Without the role approver it is not one
 * of their own votes either.
 */
function isOfOthers({ by, endedPeople, needs, roles = ['approver'] }: Act): boolean {
  if (needs?.includes('front-end') !== true || roles.includes('approver')) return false;
  return !mayEnd(by, roles, endedPeople);
}

/**
 * Attack: the owner of the log writes a vote of a person for whom no front end vouched, or with groups or an assurance that
 * the front end could not give.
 */
function ofFrontEnd(act: Act, credential: string, inForce: Words): readonly Word[] {
  const { by, vouchedBy, roles = ['approver'], groups = [], assurance, needs } = act;
  const own = inForce.filter(({ what }) => what.principal === vouchedBy && what.roles.includes('front-end'));
  if (own.length === 0)
    return [illegal('rights', `${credential} is no credential of the front end ${String(vouchedBy)}`)];
  if (personOfFrontEnd(by)?.frontEnd !== vouchedBy)
    return [illegal('rights', `${by} is no person of the front end ${String(vouchedBy)}`)];
  if (roles.some((role) => role !== 'approver') || (needs !== null && !needs.includes('approver')))
    return [illegal('rights', `people of a front end have not the roles: ${rolesOf(act)}`)];
  const isGiven = own.some(
    ({ what: { people, more } }) =>
      (more !== undefined || groups.every((group) => people?.groups.includes(group) === true)) &&
      levelOf(assurance) <= levelOf(people?.maxAssurance),
  );
  return isGiven ? [] : [illegal('rights', `${credential} could not give ${by} these groups or this assurance`)];
}

type Words = ReturnType<RightsRecord['ofCredential']>;

function notInForce(credential: string, record: RightsRecord): string {
  const last = record.ofCredential(credential, null).at(-1)?.until ?? null;
  return last === null
    ? `${credential} was not in the tokens file`
    : `${credential} was removed from the tokens file at ${last}`;
}

/** Between a change of the file and its record, rights that were removed are gone, so an event may claim fewer. */
function hasRoles({ needs, roles }: Act, recorded: readonly string[]): boolean {
  const used = roles ?? recorded;
  return used.every((role) => recorded.includes(role)) && (needs === null || needs.some((role) => used.includes(role)));
}

function rolesOf({ needs, roles }: Act): string {
  return [...(roles ?? []), ...(needs === null ? [] : [`(needs ${needs.join(' or ')})`])].join(', ');
}

const levels = ['low', 'medium', 'high'];

function levelOf(assurance = 'low'): number {
  return levels.indexOf(assurance);
}

/** A person whom a chat, a mail or a passkey names has the role from the tokens file, or from a provider. */
function ofPerson(act: Act, record: RightsRecord): readonly Word[] {
  const inForce = record.ofPerson(act.by, act.at);
  const all = inForce.flatMap(({ what }) => what.roles);
  if (inForce.length > 0 && hasRoles(act, all)) return [];
  if (isOfProvider(act.by, record)) return ['provider-rights'];
  return [illegal('rights', `no entry of the tokens file gave ${act.by} the roles: ${rolesOf(act)}`)];
}

/** Attack: a vote without a signature names a passkey as its credential, because a passkey has no entry in the tokens file. */
function ofPasskey(act: Act, credential: string, record: RightsRecord): readonly Word[] {
  const words = ofPerson(act, record);
  if (isFound(words) || credential === `passkey:${act.signature?.credentialId ?? ''}`) return words;
  return [illegal('rights', `${credential} has signed nothing here`)];
}

function ofProvider(act: Act, credential: string, record: RightsRecord): readonly Word[] {
  const issuer = issuerOf(act.by);
  const isOfIssuer = credential === `oidc:${issuer}` || credential.startsWith(`oidc:${issuer}#`);
  if (!isOfIssuer) return [illegal('rights', `${credential} is no credential of ${act.by}`)];
  return isOfProvider(act.by, record)
    ? ['provider-rights']
    : [illegal('rights', `no process was configured with the provider of ${act.by}`)];
}

const channelTypes = { slack: 'slack', telegram: 'telegram', teams: 'teams', mail: 'email' } as const;

/** Attack: a vote through a chat that nobody has configured, because a chat has no entry in the tokens file. */
function ofChannel({ via }: Act, kind: keyof typeof channelTypes, record: RightsRecord): readonly Word[] {
  const type = channelTypes[kind];
  const known = [...record.channels()];
  const isKnown =
    via === undefined ? known.some((one) => one.endsWith(` (${type})`)) : known.includes(`${via} (${type})`);
  const isCut = known.some((one) => /^and \d+ more$/.test(one));
  return isKnown || isCut ? [] : [illegal('rights', `no process was configured with such a channel of ${type}`)];
}
