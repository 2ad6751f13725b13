import { toCalledTool } from './called-tool.js';
import type { CalledTool } from './called-tool.js';
import type { EventData, NewEvent, RecordedEvent } from './events.js';
import type { GrantTerms } from './grant-events.js';
import type { JsonObject } from './json.js';
import { maskAt, maskByName, maskEdited } from './sensitive.js';
import { isReadable } from './log-event.js';
import type { LogEvent, UnreadableEvent } from './log-event.js';
import type { EventView, LogEventView } from './log-views.js';

/**
 * The tool that an event is about. Undefined when the event belongs to no call. Older versions recorded the tool in the
 * request alone, so it is undefined for the events that they recorded after it.
 */
export function calledToolOf({ type, data, metadata }: NewEvent): CalledTool | undefined {
  if (metadata.tool !== undefined || type !== 'ToolCallRequested') return metadata.tool;
  return toCalledTool(data as EventData<'ToolCallRequested'>);
}

/** A recorded event as auditors and the requesting agent read it: whole. */
export function toEventView(event: RecordedEvent): EventView {
  const { toolCallId = null, toolName = null, agentId = null } = calledToolOf(event) ?? {};
  return {
    ...placeOf(event),
    ...{ toolCallId, toolName, agentId, data: event.data },
    ...(event.metadata.erased !== undefined && { erased: [...event.metadata.erased] }),
    ...(event.metadata.missing !== undefined && { missing: [...event.metadata.missing] }),
  };
}

/** An event of the log as auditors read it: whole, or as one that cannot be read. */
export function toLogEventView(event: LogEvent): LogEventView {
  return isReadable(event) ? toEventView(event) : unreadableView(event);
}

/** An event of the log as everybody else reads it. */
export function toMaskedLogEventView(event: LogEvent): LogEventView {
  return isReadable(event) ? toMaskedEventView(event) : unreadableView(event);
}

function unreadableView(event: UnreadableEvent): LogEventView {
  const { unreadable } = event;
  return { ...placeOf(event), toolCallId: null, toolName: null, agentId: null, data: null, unreadable };
}

function placeOf({ eventId, type, position, revision, recordedAt, metadata }: LogEvent) {
  const { callId, runId, tenant } = metadata;
  return { eventId, type, position, callId, runId, tenant: tenant ?? '', revision, recordedAt };
}

/** A recorded event as everybody else reads it: sensitive values masked, the salt left out (it would make them guessable). */
export function toMaskedEventView(event: RecordedEvent): EventView {
  return { ...toEventView(event), data: maskedData(event) };
}

function maskedData(event: RecordedEvent): JsonObject {
  switch (event.type) {
    case 'ToolCallRequested': {
      const data = event.data as Extract<RecordedEvent['data'], { salt: string | null; toolSchema: unknown }>;
      const { metadata } = data;
      return {
        ...data,
        arguments: maskAt(data.arguments, data.sensitive, data.salt),
        salt: null,
        ...(metadata !== undefined && { metadata: maskByName(metadata) }),
      };
    }
    case 'ApprovalResponded': {
      const data = event.data as Extract<RecordedEvent['data'], { decision: unknown }>;
      return { ...data, decision: maskedDecision(data.decision) };
    }
    case 'GrantProposed':
    case 'GrantCreated': {
      const data = event.data as GrantTerms;
      return 'salt' in data.match ? { ...data, match: { ...data.match, salt: null } } : data;
    }
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
      return maskByName(event.data as JsonObject);
    default:
      return event.data;
  }
}

function maskedDecision(decision: Extract<RecordedEvent['data'], { decision: unknown }>['decision']): JsonObject {
  switch (decision.type) {
    case 'edit':
      return { ...decision, arguments: maskEdited(decision.arguments, decision.sensitive, decision.salt), salt: null };
    case 'answer':
      return { type: 'answer', output: maskByName(decision.output) };
    case 'approve':
    case 'deny':
      return decision;
  }
}
