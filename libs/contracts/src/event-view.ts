import { withoutProof } from './credentials.js';
import { toCalledTool } from './called-tool.js';
import type { CalledTool } from './called-tool.js';
import { actorOfEvent } from './event-actor.js';
import type { EventData, NewEvent, RecordedEvent } from './events.js';
import type { GrantTerms } from './grant-events.js';
import type { JsonObject } from './json.js';
import { maskAt, maskByName, maskEdited } from './sensitive.js';
import { maskSchema } from './sensitive-schema.js';
import { isReadable } from './log-event.js';
import type { LogEvent, UnreadableEvent } from './log-event.js';
import type { EventView, LogEventView } from './log-views.js';
import type { CredentialRights, SystemEventData } from './system-events.js';

/**
 * The tool that an event is about. Undefined when the event belongs to no call. Older versions recorded the tool in the
 * request alone, so it is undefined for the events that they recorded after it.
 */
export function calledToolOf({ type, data, metadata }: NewEvent): CalledTool | undefined {
  if (metadata.tool !== undefined || type !== 'ToolCallRequested') return metadata.tool;
  return toCalledTool(data as EventData<'ToolCallRequested'>);
}

/**
 * What readers of events see. `clear`: all that is recorded. `owner`, the agent that requested the call: not how people proved
 * who they are. `masked`, auditors and admins: with that, and with sensitive values masked. `others`: neither, as on the
 * events topic.
 */
export type EventAudience = 'clear' | 'owner' | 'masked' | 'others';

/** A recorded event as its audience sees it. */
export function toEventView(event: RecordedEvent, audience: EventAudience): EventView {
  const { toolCallId = null, toolName = null, agentId = null } = calledToolOf(event) ?? {};
  return {
    ...placeOf(event),
    ...{ toolCallId, toolName, agentId, actor: actorOfEvent(event), data: dataFor(event, audience) },
    ...(event.metadata.erased !== undefined && { erased: [...event.metadata.erased] }),
    ...(event.metadata.missing !== undefined && { missing: [...event.metadata.missing] }),
  };
}

/** An event of the log as its audience sees it; one that cannot be read without its data. */
export function toLogEventView(event: LogEvent, audience: EventAudience): LogEventView {
  return isReadable(event) ? toEventView(event, audience) : unreadableView(event);
}

function unreadableView(event: UnreadableEvent): LogEventView {
  const { unreadable } = event;
  return { ...placeOf(event), toolCallId: null, toolName: null, agentId: null, actor: null, data: null, unreadable };
}

function placeOf({ eventId, type, position, revision, recordedAt, metadata }: LogEvent) {
  const { callId, runId, tenant } = metadata;
  return { eventId, type, position, callId, runId, tenant: tenant ?? '', revision, recordedAt };
}

/** A recorded event as the events topic carries it: for readers who may see neither sensitive values nor credentials. */
export function toMaskedEventView(event: RecordedEvent): EventView {
  return toEventView(event, 'others');
}

function dataFor(event: RecordedEvent, audience: EventAudience): JsonObject {
  switch (audience) {
    case 'clear':
      return event.data;
    case 'owner':
      return withoutCredentials(event, event.data);
    case 'masked':
      return maskedData(event);
    case 'others':
      return withoutCredentials(event, maskedData(event));
  }
}

function withoutCredentials({ type }: RecordedEvent, data: JsonObject): JsonObject {
  if (type !== 'ConfigurationChanged') return withoutProof(data);
  const { added, changed, removed, ...others } = data as SystemEventData<'ConfigurationChanged'>;
  const nameless = (list: readonly CredentialRights[]) => list.map(({ credential: _id, ...rights }) => rights);
  return { ...others, added: nameless(added), changed: nameless(changed), removed: nameless(removed) };
}

/** Names alone decide in what a tool returned. The rest is of the event, such as the id of a credential. */
function maskedResult(data: JsonObject): JsonObject {
  const { output, error } = data;
  return {
    ...data,
    ...(output !== undefined && { output: maskByName(output) }),
    ...(error !== undefined && { error: maskByName(error) }),
  };
}

/** Sensitive values masked, the salt left out (it would make them guessable). */
function maskedData(event: RecordedEvent): JsonObject {
  switch (event.type) {
    case 'ToolCallRequested': {
      const data = event.data as Extract<RecordedEvent['data'], { salt: string | null; toolSchema: unknown }>;
      const { metadata, toolSchema } = data;
      return {
        ...data,
        toolSchema: toolSchema && maskSchema(toolSchema, data.arguments, data.sensitive),
        arguments: maskAt(data.arguments, data.sensitive, data.salt),
        salt: null,
        ...(metadata !== undefined && { metadata: maskByName(metadata) }),
      };
    }
    case 'ApprovalResponded': {
      const data = event.data as Extract<RecordedEvent['data'], { decision: unknown }>;
      const decision = maskedDecision(data.decision);
      return decision === data.decision ? data : { ...data, decision };
    }
    case 'GrantProposed':
    case 'GrantCreated': {
      const data = event.data as GrantTerms;
      return 'salt' in data.match ? { ...data, match: { ...data.match, salt: null } } : data;
    }
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
      return maskedResult(event.data);
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
