import type { GrantEvent, GrantTerms } from '@countersign/contracts';
import type { GrantAcknowledgement } from '../traffic/journal.js';
import type { CallEvent, Entry } from './log.js';
import type { CallHistory, Histories } from './rules.js';

type GrantEntry = Entry & GrantEvent;
type Used = GrantEntry & { readonly type: 'GrantUsed' };

/** By the id of the grant, its events in order. */
type Grants = ReadonlyMap<string, readonly GrantEntry[]>;

/**
 * A grant is used in time, at most as often as it says, once a call, and not after it was revoked; a call that cites a
 * grant took a use of it before, and a call that took a use is covered unless the grant ended before the call was recorded.
 */
export function grantComplaints(
  entries: readonly Entry[],
  told: readonly GrantAcknowledgement[],
  histories: Histories,
): readonly string[] {
  const grants: Grants = Map.groupBy(entries.filter(isGrantEvent), ({ data }) => data.grantId);
  return [
    ...[...grants.values()].flatMap((events) => [...useComplaints(events), ...lostUses(events, histories)]),
    ...[...histories.values()].flatMap((history) => coverComplaints(history, grants)),
    ...told.flatMap((one) => untrue(one, grants)),
  ];
}

function isGrantEvent(entry: Entry): entry is GrantEntry {
  return entry.stream.startsWith('grant-');
}

function isUse(event: GrantEntry): event is Used {
  return event.type === 'GrantUsed';
}

function termsOf([first]: readonly GrantEntry[]): GrantTerms | undefined {
  return first?.type === 'GrantCreated' || first?.type === 'GrantProposed' ? first.data : undefined;
}

function useComplaints(events: readonly GrantEntry[]): readonly string[] {
  const terms = termsOf(events);
  if (terms === undefined) return [`${events[0]?.stream ?? ''} does not begin with a grant`];
  const { grantId, maxUses, expiresAt } = terms;
  const uses = events.filter(isUse);
  const revokedAt = events.find(({ type }) => type === 'GrantRevoked')?.position ?? Infinity;
  const confirmedAt = events.find(({ type }) => type === 'GrantCreated' || type === 'GrantConfirmed')?.position;
  const complaints = uses.flatMap(({ position, data: { callId, nth, usedAt } }, index) => {
    const what = `the use ${nth} of ${grantId} by ${callId}`;
    return [
      ...(nth === index + 1 ? [] : [`${what} is recorded as number ${index + 1}`]),
      ...(index < (maxUses ?? Infinity) ? [] : [`${what} is one more than its ${maxUses ?? 0}`]),
      ...(usedAt < expiresAt ? [] : [`${what} came after its end`]),
      ...(position < revokedAt ? [] : [`${what} came after it was revoked`]),
      ...(position > (confirmedAt ?? Infinity) ? [] : [`${what} came before it was confirmed`]),
    ];
  });
  const callIds = uses.map(({ data }) => data.callId);
  const twice = callIds.filter((callId, index) => callIds.indexOf(callId) < index);
  return [...complaints, ...twice.map((callId) => `${callId} took two uses of ${grantId}`)];
}

/** A retry after a crash finds the use that the call already holds. */
function lostUses(events: readonly GrantEntry[], histories: Histories): readonly string[] {
  const expiresAt = termsOf(events)?.expiresAt ?? '';
  const revokedAt = events.find(({ type }) => type === 'GrantRevoked')?.position ?? Infinity;
  return events.filter(isUse).flatMap(({ data: { callId, grantId } }) => {
    const history = histories.get(callId);
    const [request] = history?.events ?? [];
    if (history === undefined || request === undefined)
      return [`${callId} took a use of ${grantId} and is not in the log`];
    const hadEnded = request.position > revokedAt || request.recordedAt >= expiresAt;
    const isCovered = history.events.some((event) => citedBy(event) === grantId);
    return isCovered || hadEnded ? [] : [`${callId} took a use of ${grantId} and is not covered by it`];
  });
}

/** The grant that an event of a call cites. */
function citedBy(event: CallEvent): string | undefined {
  return event.type === 'ToolCallAllowed' ? event.data.verdict.grantId : undefined;
}

function coverComplaints({ callId, events, standings }: CallHistory, grants: Grants): readonly string[] {
  const request = standings[0]?.request;
  const allowed = events.filter(({ type }) => type === 'ToolCallAllowed');
  if (allowed.length > 1) return [`${callId} is allowed twice`];
  return allowed.flatMap((event) => {
    const grantId = citedBy(event);
    if (grantId === undefined)
      return request?.needsApproval === true ? [`${callId} needs an approval and is allowed without a grant`] : [];
    const ofGrant = grants.get(grantId) ?? [];
    const terms = termsOf(ofGrant);
    const holds = ofGrant.some((one) => isUse(one) && one.data.callId === callId && one.position < event.position);
    return [
      ...(holds ? [] : [`${callId} cites ${grantId} and took no use of it before`]),
      ...(terms?.toolName === request?.toolName ? [] : [`${callId} cites ${grantId}, which is for another tool`]),
      ...(terms?.createdBy === request?.requestedBy ? [`${callId} cites ${grantId} of its own requester`] : []),
    ];
  });
}

function untrue({ kind, grantId }: GrantAcknowledgement, grants: Grants): readonly string[] {
  const type = kind === 'granted' ? 'GrantCreated' : 'GrantRevoked';
  const isRecorded = grants.get(grantId)?.some((event) => event.type === type) ?? false;
  return isRecorded ? [] : [`${grantId}: "${kind}" was acknowledged, and the log has no ${type}`];
}
