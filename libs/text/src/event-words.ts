import { quotedName } from './people-words.js';

/** Returns one member of an event's data as printable text, empty when it is absent. A name is in quotes where `quotedName` says so. */
export type ReadMember = (...path: string[]) => string;

/** Describes an event from its data. */
export type SayEvent = (read: ReadMember, data: unknown) => string;

/** Words by the type of the event. */
export type EventWords = Readonly<Record<string, SayEvent>>;

/** An event to describe. In an event of a newer server any member of the data may be absent or different. */
export interface ToldEvent {
  readonly type: string;
  readonly data: unknown;
}

const common: EventWords = {
  ToolCallAllowed: (read) => {
    const grantId = read('verdict', 'grantId');
    return grantId === '' ? `allowed by rule ${read('verdict', 'ruleId')}` : `allowed by the grant ${grantId}`;
  },
  ToolCallBlocked: (read) => withWhy(`blocked by rule ${read('verdict', 'ruleId')}`, read('reason')),
  ToolCallShadowJudged: (read) => {
    const verdict = `the candidate policy says ${read('outcome')}, by rule ${read('ruleId')}`;
    return read('differs') === '' ? `${verdict}, as the policy in force` : `${verdict}; this decides nothing`;
  },
  ApprovalDescribed: (read) => withWhy(`${read('describedBy')} adds`, read('reason') || read('description')),
  ResponseWithdrawn: (read) => {
    const castBy = read('castBy');
    return `${read('withdrawnBy')} withdrew the response${castBy === '' ? '' : ` of ${castBy}`}`;
  },
  ValuesRevealed: (read) => {
    const ofAnswer = read('outputPointers');
    const places = ofAnswer === '' ? read('pointers') : `${read('pointers')} and in the answer ${ofAnswer}`;
    return `${read('revealedBy')} looked at the hidden values via ${read('via')}: ${places}`;
  },
  ApprovalExpired: () => 'expired without an answer',
  ApprovalEscalated: (read) => `escalated to ${read('to')} (level ${read('level')})`,
  ApproversReminded: (read) => `reminder ${read('nth')} sent`,
  ApprovalLapsed: () => 'the approval expired before the tool ran',
  ToolCallCancelled: (read) => withWhy(`cancelled by ${read('cancelledBy')}`, read('reason')),
  ToolCallQueued: () => 'waits for its turn, behind the calls of its run before it',
  ToolCallCommitted: () => 'its batch has started; the call can no longer be cancelled',
  BatchBegun: () => 'the all-or-nothing batch has started; its calls can no longer be cancelled',
  BatchBroken: (read) =>
    withWhy(`the all-or-nothing batch was cancelled, because one call is ${read('state')}`, read('reason')),
  GrantProposed: (read) =>
    withWhy(`${read('createdBy')} proposed a grant for ${read('toolName')} (${read('grantId')})`, read('reason')),
  GrantCreated: (read) =>
    withWhy(`${read('createdBy')} granted calls of ${read('toolName')} (${read('grantId')})`, read('reason')),
  GrantConfirmed: (read) => `${read('confirmedBy')} confirmed the grant ${read('grantId')}`,
  GrantUsed: (read) => `the grant ${read('grantId')} covered ${read('callId')} (use ${read('nth')})`,
  GrantRevoked: (read) => `${read('revokedBy')} revoked the grant ${read('grantId')}`,
  SubjectErased: (read) =>
    withWhy(`${read('erasedBy')} erased ${read('values')} values of ${read('calls')} calls`, read('reason')),
  PasskeyRegistered: (read) => `${read('principal')} registered the passkey ${read('name')}`,
  PasskeyConfirmed: (read) => `${read('confirmedBy')} confirmed the passkey ${read('credentialId')}`,
  PasskeyRemoved: (read) => `${read('removedBy')} removed the passkey ${read('credentialId')}`,
  ProcessStarted: (read) => `${read('role')} ${read('version')} started`,
  PolicyActivated: (read) => `${read('activatedBy')} put the policy ${read('policyVersion')} in force`,
  ShadowPolicyActivated: (read) => `${read('activatedBy')} set the candidate policy ${read('policyVersion')}`,
  ConfigurationChanged: (read, data) => `the operator changed the ${read('configures')}${changedParts(read, data)}`,
  ConfigurationRefused: (read) =>
    withWhy(`the ${read('configures')} cannot be used, and what was in force stays`, read('why')),
  KeysRotated: () => 'the root key was replaced',
  LogKeyChanged: () => 'the key that signs the log was replaced',
  LogEndAccepted: (read) =>
    read('by') === ''
      ? withWhy(`the operator accepted that the log ends at position ${read('to')}`, read('why'))
      : withWhy(`${read('by')} knows that the log lost its end after position ${read('to')}`, read('reason')),
  LogRestored: (read) =>
    withWhy(
      read('principal') === ''
        ? `the operator restored a backup of the log that ends at position ${read('to')}`
        : `${read('principal')} went on with the log as the next epoch, although it contradicts what was signed`,
      read('reason'),
    ),
  Backup: (read) => `the operator made a backup of the log that ends at position ${read('to')}`,
  StopDeclared: (read) => withWhy(`${read('declaredBy')} stopped calls`, read('reason')),
  StopLifted: (read) => withWhy(`${read('liftedBy')} lifted a stop`, read('reason')),
  SignedIn: (read) => `${read('principal')} signed in with ${read('with')}`,
  SignInRefused: (read) => `${read('count')} sign-ins refused`,
  AuditRead: (read, data) =>
    `${read('principal')} read the log as auditor (${read('count')}): ${namedIn(data, 'reads', (at) => readWords(read, at)).join('; ')}`,
  RunCancelled: (read, data) =>
    withWhy(`${read('cancelledBy')} cancelled the run (${openCallsWords(memberOf(data, 'callIds'))})`, read('reason')),
  ExecutionClaimed: (read) => `${read('resolverId')} runs it (attempt ${read('attempt')})`,
  ExecutionClaimRenewed: (read) => `attempt ${read('attempt')} is still running`,
  ExecutionLapsed: (read) => `attempt ${read('attempt')} reported nothing; it may be retried`,
  ExecutionOutcomeUnknown: (read) => withWhy('the outcome is unknown; a person must reconcile it', read('reason')),
  ExecutionReconciled: (read) => withWhy(`${read('reconciledBy')} says: ${read('status')}`, read('note')),
};

const namedMax = 5;

/** The first entries of a list in words, and how many more there are. */
function namedIn(data: unknown, name: string, say: (at: string) => string): readonly string[] {
  const list = memberOf(data, name);
  if (!Array.isArray(list)) return [];
  const named = list.slice(0, namedMax).map((_, at) => say(String(at)));
  return list.length > namedMax ? [...named, `${String(list.length - namedMax)} more`] : named;
}

/** The credentials that are new, changed and gone; of another part of the configuration what there is now. */
function changedParts(read: ReadMember, data: unknown): string {
  const lists = (['added', 'changed', 'removed'] as const).flatMap((name) => {
    const named = namedIn(data, name, (at) => credentialWords(read, memberOf(data, name), [name, at]));
    return named.length === 0 ? [] : [`${name} ${named.join(', ')}`];
  });
  const parts = lists.length > 0 ? lists : namedIn(data, 'summary', (at) => read('summary', at));
  const digest = lists.length > 0 ? '' : read('digest');
  return withWhy(digest === '' ? '' : ` (${digest})`, parts.join('; '));
}

function credentialWords(read: ReadMember, list: unknown, path: readonly [string, string]): string {
  const roles = namedIn(memberOf(list, path[1]), 'roles', (at) => read(...path, 'roles', at));
  const rights = [roles.join(', '), read(...path, 'credential')].filter((part) => part !== '');
  return `${read(...path, 'principal')} (${rights.join('; ')})`;
}

const readParts = [
  ['callId', 'of'],
  ['after', 'after'],
  ['limit', 'up to'],
  ['since', 'since'],
  ['until', 'until'],
] as const;

/** What was read, and in which form. */
function readWords(read: ReadMember, at: string): string {
  const parts = readParts.flatMap(([name, word]) => {
    const value = read('reads', at, name);
    return value === '' ? [] : [`${word} ${value}`];
  });
  return [read('reads', at, 'what'), read('reads', at, 'values'), ...parts].join(' ');
}

/** The calls that were open and that its author may cancel. Each call records whether it was cancelled. */
function openCallsWords(callIds: unknown): string {
  const count = Array.isArray(callIds) ? callIds.length : 0;
  return `${String(count)} open ${count === 1 ? 'call' : 'calls'}`;
}

const lateWords: Readonly<Record<string, string>> = {
  'lease-over': 'reported after the lease',
  'outcome-unknown': 'reported after the outcome was recorded as unknown',
  'execute-by-over': 'submitted after the right to run had ended',
};

/** Describes an outcome, and whether the report was late. */
export function withLateness(words: string, read: ReadMember): string {
  const late = read('late');
  return late === '' ? words : `${words} (${lateWords[late] ?? late})`;
}

/** Members that hold sentences and recorded values. Every other text of an event is a name, a code or a time. */
const prose: ReadonlySet<string> = new Set([
  ...['reason', 'description', 'detail', 'why', 'note', 'instruction'],
  ...['arguments', 'output', 'error'],
]);

/**
 * Describes an event in words: from `own`, otherwise from the shared texts; undefined for an unknown type. `show` makes
 * any value of its data printable.
 */
export function eventWordsOf(event: ToldEvent, own: EventWords, show: (value: unknown) => string): string | undefined {
  const words = { ...common, ...own };
  const say = Object.hasOwn(words, event.type) ? words[event.type] : undefined;
  const read: ReadMember = (...path) => {
    const value = path.reduce<unknown>(memberOf, event.data);
    if (value === undefined || value === null) return '';
    const isName = typeof value === 'string' && value !== '' && !prose.has(path.at(-1) ?? '');
    return show(isName ? quotedName(value) : value);
  };
  return say?.(read, event.data);
}

/** The member that a value has under a name, if it has members at all. */
function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}

/** A text, and the reason if there is one. */
export function withWhy(words: string, why: string): string {
  return why === '' ? words : `${words}: ${why}`;
}

/** The people of a recorded response, out of its event. */
export function responderRead(read: ReadMember): string {
  const person = read('onBehalfOf');
  return person === '' ? read('respondedBy') : `${read('respondedBy')} for ${person}`;
}
