import { comparedIdentity, identitiesIn, isReadable, toCalledTool, toolCallStream } from '@countersign/contracts';
import type { LogEvent, NotificationKind } from '@countersign/contracts';
import type { Notice, Person, Routed } from '@countersign/channels';
import { currentProposal, groupsAsked, groupsOfProposal, requirementOf } from '@countersign/domain';
import type { Approval } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { foldCall, toApprovalView, toToolCallView } from '@countersign/read-model';
import type { CallRow } from '@countersign/read-model';
import type { Subject } from './delivery-log.js';

/** Where calls are read. */
export interface CallSource {
  readonly store: Pick<EventStore, 'readStream'>;
  /** A call with the votes alone that count now. Default: those that are recorded, where the people are not known. */
  readonly votesNow?: ((call: CallRow) => CallRow) | undefined;
}

const asRecorded = (call: CallRow): CallRow => call;

/** Reads the current row of any call. */
export function rowReader({
  store,
  votesNow = asRecorded,
}: CallSource): (callId: string) => Promise<CallRow | undefined> {
  return async (callId) => {
    const call = foldCall(await store.readStream(toolCallStream(callId)));
    return call && votesNow(call);
  };
}

/**
 * Reads a call of the tenant from its own stream. Returns undefined when there is none that can be read.
 *
 * `asRequested`: the call as it was when this approval was requested.
 *
 * Attack: a message on the events topic names this tenant and another tenant's call. The call's own events name its
 * tenant; otherwise the other tenant's card would be sent here.
 */
export async function readCall(
  { store, votesNow = asRecorded }: CallSource,
  tenant: string,
  callId: string,
  asRequested: string | null = null,
): Promise<TracedCall | undefined> {
  const all = await store.readStream(toolCallStream(callId));
  const events = asRequested === null ? all : all.slice(0, placeOfRequest(all, asRequested) + 1);
  const recorded = foldCall(events);
  const call = recorded && votesNow(recorded);
  // Nothing is decided on a call that cannot be read, so nothing is sent about it.
  if (call?.request.tenant !== tenant || call.unreadable !== null) return undefined;
  return { ...call, traceparent: events.find(isReadable)?.metadata.traceparent };
}

/** Where an approval was requested; the last event if that is not known. */
function placeOfRequest(events: readonly LogEvent[], approvalId: string): number {
  const at = events.findIndex(
    (event) =>
      isReadable(event) && event.type === 'ApprovalRequested' && Reflect.get(event.data, 'approvalId') === approvalId,
  );
  return at < 0 ? events.length - 1 : at;
}

/** A call, and the trace that it belongs to. */
export interface TracedCall extends CallRow {
  readonly traceparent?: string | undefined;
}

/** The approval of a call by its id; null when the call needs none. */
export function approvalOf(call: CallRow, approvalId: string | null): Approval | null {
  return call.approvals.find((approval) => approval.approvalId === approvalId) ?? null;
}

/** The subject of a message about a call and one of its approvals. */
export function subjectOf(call: TracedCall, approvalId: string | null): Subject {
  const { tenant, callId, runId } = call.request;
  return { tenant, callId, runId, tool: toCalledTool(call.request), approvalId, traceparent: call.traceparent };
}

/** The input of the routes. An escalation adds its groups. */
export function routedOf(call: CallRow, approval: Approval | null): Routed {
  const { toolName, agentId, runId, labels } = call.request;
  const risk = approval === null ? null : requirementOf(approval).risk;
  return { toolName, agentId, runId, labels, risk, groups: approval === null ? undefined : groupsOfProposal(approval) };
}

/** The recipients of a personal channel: the people who may respond, also as delegates, and whom the route names. */
export function recipientsOf(
  people: readonly Person[],
  mayAnswer: readonly string[] | null | undefined,
  wanted: readonly string[] | null,
): readonly Person[] {
  return people.filter(
    ({ email, groups, delegatedGroups = [] }) =>
      email !== undefined &&
      isAskedAs([...groups, ...delegatedGroups], mayAnswer ?? null) &&
      isAskedAs([...groups, ...delegatedGroups], wanted),
  );
}

/** The people with an address who may decide now: those of a later stage may when it is their turn. */
export function peopleAskedNow(people: readonly Person[], call: CallRow, approval: Approval): readonly Person[] {
  return recipientsOf(peopleToAsk(people, call, approval), groupsAsked(approval), null);
}

/**
 * The people who are not excluded from an approval, in any of its stages: not those who are no approvers, not those whose
 * request it is, where four eyes hold, and not those who have answered its current proposal, or for whom a delegate has.
 */
export function peopleToAsk(people: readonly Person[], { request }: CallRow, approval: Approval): readonly Person[] {
  const { number } = currentProposal(approval);
  const answered = approval.votes.filter(({ status, proposal }) => status === 'counted' && proposal === number);
  const links = [request, ...(request.chain ?? [])];
  const behind = links.flatMap(({ requestedBy, owner, onBehalfOf }) => [requestedBy, owner, onBehalfOf]);
  const excluded = new Set(
    [
      ...(requirementOf(approval).fourEyes ? [approval.requestedBy, ...behind] : []),
      ...answered.flatMap(({ respondedBy, onBehalfOf }) => [respondedBy, onBehalfOf ?? undefined]),
    ].flatMap((name) => (name === undefined ? [] : [comparedIdentity(name)])),
  );
  return people.filter((person) => person.isApprover !== false && !namesOf(person).some((name) => excluded.has(name)));
}

/** The names under which a person may have asked or answered. */
function namesOf(person: Person): readonly string[] {
  return [person.id, ...identitiesIn(person)].map(comparedIdentity);
}

/** The people behind a request who have an address in the channels file. */
export function requestersOf(people: readonly Person[], { request }: CallRow): readonly Person[] {
  const behind = [request.owner, request.onBehalfOf, request.requestedBy].flatMap((one) =>
    one === undefined ? [] : [comparedIdentity(one)],
  );
  return people.filter((person) => person.email !== undefined && namesOf(person).some((name) => behind.includes(name)));
}

/** Null: every approver. */
function isAskedAs(groups: readonly string[], asked: readonly string[] | null): boolean {
  return asked === null || groups.some((group) => asked.includes(group));
}

/** Reminders that the policy asks for are counted from here, so that they are none of the routes'. */
export const policyReminders = 100;

/** The number of a reminder as people read it. */
function reminderNumber(nth: number): number {
  return nth > policyReminders ? nth - policyReminders : nth;
}

/** The content of a message, always masked. */
export function noticeOf(
  call: CallRow,
  approval: Approval | null,
  what: {
    readonly messageId: string;
    readonly kind: NotificationKind;
    readonly nth: number;
    readonly recipient: Person | null;
  },
): Notice {
  const view = toToolCallView(call, 'masked');
  const approvalView = approval === null ? null : toApprovalView({ call, approval }, 'masked');
  const nth = what.kind === 'reminder' ? reminderNumber(what.nth) : what.nth;
  const { labels } = call.request;
  return { ...what, nth, labels, call: view, approval: approvalView, at: timeOfKind(call, approval, what) };
}

/** When the reported event happened; the same for every try. */
function timeOfKind(
  call: CallRow,
  approval: Approval | null,
  { kind, nth }: { readonly kind: NotificationKind; readonly nth: number },
): string {
  const { requestedAt } = approval ?? call.request;
  const resolvedAt = approval === null || approval.resolution.status === 'pending' ? undefined : approval.resolution.at;
  switch (kind) {
    case 'digest':
      return new Date(nth * 1000).toISOString();
    case 'requested':
    case 'reminder':
      return requestedAt;
    case 'approved':
    case 'denied':
    case 'expired':
    case 'cancelled':
      return resolvedAt ?? call.settledAt ?? requestedAt;
    case 'blocked':
    case 'succeeded':
    case 'failed':
    case 'unknown':
      return call.settledAt ?? resolvedAt ?? requestedAt;
  }
}
