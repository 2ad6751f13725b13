import type { LogEventView } from '@countersign/contracts';
import { isObject } from '@countersign/react/parts';

/** The fields of a search of the log, each with its label. Items of a list are parted by commas; `\,` is a comma inside an item. */
export const searchFields = [
  ['actor', 'Person or principal'],
  ['toolName', 'Tool'],
  ['agentId', 'Agent'],
  ['runId', 'Run'],
  ['callId', 'Call'],
  ['ruleId', 'Rule'],
  ['via', 'Channel'],
] as const;

const names = [...searchFields.map(([name]) => name), 'types', 'since', 'until', 'order'] as const;
type SearchName = (typeof names)[number];

/** A search as the address has it. */
export type Search = Readonly<Partial<Record<SearchName, string>>> & {
  /** Lists only these responses. The server has no such filter. */
  readonly only?: Only | undefined;
  /** Lists only what the person did themselves, and not what others did for them. The server has no such filter. */
  readonly own?: 'true' | undefined;
};

/** Responses with a decision, of people, by silence, of stand-ins, or faster than the arguments can be read. */
const onlys = ['approve', 'edit', 'deny', 'answer', 'person', 'silence', 'stand-in', 'fast'] as const;
export type Only = (typeof onlys)[number];

/** Whether the page shows the event under the chosen filters. */
export function isListed({ data, actor }: LogEventView, { only, own, actor: person }: Search): boolean {
  const isOwn = own === undefined || person === undefined || isBy(actor?.id ?? '', person);
  return isOwn && isOfKind(data, only);
}

function isBy(id: string, person: string): boolean {
  return folded(id) === folded(person.replaceAll('\\,', ','));
}

/** The server compares names by their case folding. */
function folded(name: string): string {
  return name.normalize('NFKC').toUpperCase().toLowerCase().trim();
}

function isOfKind(data: LogEventView['data'], only: Only | undefined): boolean {
  if (only === undefined) return true;
  const { automatic, onBehalfOf, decision } = data ?? {};
  if (automatic === true) return only === 'silence';
  if (only === 'person') return true;
  if (only === 'stand-in') return typeof onBehalfOf === 'string';
  return isObject(decision) && decision['type'] === (only === 'fast' ? 'approve' : only);
}

/** Reads the search of an address. Names that are no filter are left out. */
export function searchOf(query: string): Search {
  const given = new URLSearchParams(query);
  const filters = names.flatMap((name) => {
    const value = given.get(name);
    return value === null || value === '' ? [] : [[name, value] as const];
  });
  const only = onlys.find((one) => one === given.get('only'));
  const own = given.get('own') === 'true';
  return { ...Object.fromEntries(filters), ...(only !== undefined && { only }), ...(own && { own: 'true' }) };
}

/** The query of an address with the search. */
export function queryOf(search: Search): string {
  return new URLSearchParams(
    Object.entries(search).filter((one): one is [string, string] => Boolean(one[1])),
  ).toString();
}

/** The query of the request to the server. The newest events come first, unless the search sets another order. */
export function requestOf({ only: _listed, own: _own, order = 'desc', ...search }: Search): URLSearchParams {
  return new URLSearchParams(queryOf({ ...search, order }));
}

/** One name in a list of names. */
export function listed(name: string): string {
  return name.replaceAll(',', '\\,');
}

/** The kinds of events that people look for. */
export const kinds = [
  [
    'Requests',
    'ToolCallRequested,ToolCallAllowed,ToolCallBlocked,ToolCallQueued,ToolCallShadowJudged,ApprovalRequested,ApprovalDescribed',
  ],
  ['Responses', 'ApprovalResponded,ResponseWithdrawn'],
  ['Expired, escalated, reminded', 'ApprovalExpired,ApprovalEscalated,ApproversReminded,ApprovalLapsed'],
  ['Cancelled', 'ToolCallCancelled,RunCancelled,BatchBroken'],
  [
    'Runs of tools',
    'BatchBegun,ToolCallCommitted,ExecutionClaimed,ExecutionClaimRenewed,ExecutionSucceeded,ExecutionFailed,ExecutionLapsed,ExecutionOutcomeUnknown,ExecutionReconciled',
  ],
  ['Stops', 'StopDeclared,StopLifted'],
  [
    'Messages to people',
    'NotificationClaimed,NotificationDelivered,NotificationUpdated,NotificationFailed,ChannelActivated,ChannelSwitchedOff',
  ],
  ['Grants', 'GrantProposed,GrantCreated,GrantConfirmed,GrantUsed,GrantRevoked'],
  ['Hidden values shown, log read', 'ValuesRevealed,AuditRead'],
  [
    'Policy and settings',
    'PolicyActivated,ShadowPolicyActivated,ProcessStarted,ConfigurationChanged,ConfigurationRefused,KeysRotated,LogKeyChanged,LogEndAccepted,LogRestored,Backup',
  ],
  ['Sign-ins and passkeys', 'SignedIn,SignInRefused,PasskeyRegistered,PasskeyConfirmed,PasskeyRemoved'],
  ['Erasures and refused requests', 'SubjectErased,RequestRefused'],
  ['Cannot be read by this version', 'unreadable'],
] as const;

/** A moment as a field for local date and time has it, to the second. */
export function localOf(time: string | undefined): string {
  const ms = time === undefined ? Number.NaN : Date.parse(time);
  if (Number.isNaN(ms)) return '';
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}

/** A local date and time as a moment; undefined when it is none. */
export function momentOf(local: string): string | undefined {
  const ms = Date.parse(local);
  return Number.isNaN(ms) ? undefined : new Date(ms).toISOString();
}

/** The search of one local day, `2026-11-28`. */
export function dayOf(day: string): Pick<Search, 'since' | 'until'> {
  const start = new Date(`${day}T00:00:00`);
  if (Number.isNaN(start.getTime())) return {};
  // Not 24 hours: a day may be longer or shorter where clocks change.
  const end = new Date(start.getFullYear(), start.getMonth(), start.getDate() + 1);
  return { since: start.toISOString(), until: end.toISOString() };
}
