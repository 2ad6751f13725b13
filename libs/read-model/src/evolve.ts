import { readablePart, toToolCallEvent, upcast } from '@countersign/contracts';
import type { EventData, LogEvent, RecordedEvent, UnreadableEvent } from '@countersign/contracts';
import { callState, dueAt, isSequential, queuedIn, toolCallDecider } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { CallRow } from './call-row.js';

/**
 * Returns the row after one more event of its stream: the domain's own fold, and the event's place in the log. Total:
 * an impossible event leaves the state unchanged, so one broken stream never stops the others.
 */
export function evolve(row: CallRow | undefined, event: RecordedEvent): CallRow | undefined {
  // The fold passes the request on as it is, so it may lack what the row leaves in the log.
  const before = row === undefined ? toolCallDecider.initialState() : (row as unknown as ToolCall);
  const call = toolCallDecider.evolve(before, toToolCallEvent(event));
  if (call.status === 'unrequested') return undefined;
  const { request, seq, approvalSeqs } = row ?? first(call, event);
  return {
    status: call.status,
    request,
    action: call.action,
    verdict: call.verdict,
    permission: call.permission,
    approvals: call.approvals,
    execution: call.execution,
    committed: call.committed,
    instruction: call.instruction,
    settledAt: call.settledAt,
    seq,
    approvalSeqs: call.approvals.length > approvalSeqs.length ? [...approvalSeqs, event.position] : approvalSeqs,
    place: placeAfter(row, event),
    endedRunAt: endedRunAfter(row, event),
    revision: event.revision,
    state: callState(call) ?? 'awaiting_approval',
    dueAt: dueAt(call)?.atMs ?? null,
    ...sealingOf(row, event),
    unreadable: null,
  };
}

/** What is recorded while a call waits changes what happens at its turn, and not its place. */
function placeAfter(row: CallRow | undefined, { type, position }: RecordedEvent): number | null {
  if (type !== 'ToolCallQueued' || row === undefined) return row?.place ?? null;
  return queuedIn(row) === undefined ? position : row.place;
}

function endedRunAfter(row: CallRow | undefined, { type, data, position }: RecordedEvent): number | null {
  const endsRun = type === 'ApprovalResponded' && (data as EventData<'ApprovalResponded'>).endsRun === true;
  return endsRun ? position : (row?.endedRunAt ?? null);
}

function sealingOf(
  row: CallRow | undefined,
  { metadata }: RecordedEvent,
): Pick<CallRow, 'sealKey' | 'erased' | 'missing'> {
  const { sealKey = null, erased = [], missing = [] } = row ?? {};
  return {
    sealKey: metadata.sealed?.key ?? sealKey,
    erased: union(erased, metadata.erased),
    missing: union(missing, metadata.missing),
  };
}

function union(known: readonly string[], more: readonly string[] | undefined): readonly string[] {
  return more === undefined ? known : [...new Set([...known, ...more])];
}

/**
 * The row of a call whose next event cannot be read: its state stays, and no deadline of it is due. Attack: the event that cannot be read
 * would have given a sequential call its place, and those behind it pass.
 */
export function setAside(row: CallRow, { eventId, position, revision, type, unreadable }: UnreadableEvent): CallRow {
  const place = row.place ?? (isSequential(row.request) ? position : null);
  return { ...row, place, dueAt: null, unreadable: { eventId, position, revision, type, why: unreadable } };
}

/**
 * The row of a call that a person cancelled with its run at this position. One that cannot be read is not cancelled, and may be running:
 * but calls that are queued from then on do not wait for it any more.
 */
export function passedAt(row: CallRow, position: number): CallRow {
  return row.unreadable === null ? row : { ...row, unreadable: { ...row.unreadable, passedAt: position } };
}

/** The row of a call after all events of its stream, as the event store has them; undefined when there are none. */
export function foldCall(events: readonly LogEvent[]): CallRow | undefined {
  const { events: read, unreadable } = readablePart(events);
  const row = read.reduce<CallRow | undefined>((before, event) => evolve(before, upcast(event)), undefined);
  return row === undefined || unreadable === undefined ? row : setAside(row, unreadable);
}

function first(call: ToolCall, { position }: RecordedEvent): Pick<CallRow, 'request' | 'seq' | 'approvalSeqs'> {
  const { toolSchema: _schema, needsApproval: _needs, reason: _why, description: _text, ...shown } = call.request;
  const { batchRuleId: _rule, hints: _hints, ...request } = shown;
  return { request, seq: position, approvalSeqs: [] };
}
