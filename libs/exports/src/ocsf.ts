import { codeOfEvent } from '@countersign/contracts';
import type { EventActor, JsonObject, LogEventView } from '@countersign/contracts';

/** The versions of the Open Cybersecurity Schema Framework whose names these are. Version 1.9 has `record_integrity`. */
const [schemaVersion, integrityVersion] = ['1.8.0', '1.9.0'] as const;
const [classUid, categoryUid] = [6003, 6];

const activities = { create: 1, read: 2, update: 3, delete: 4, other: 99 } as const;
type Activity = keyof typeof activities;

/** What a type of event does, where it is not an update. */
const activityOf: Readonly<Record<string, Activity>> = {
  ToolCallRequested: 'create',
  ApprovalRequested: 'create',
  GrantProposed: 'create',
  GrantCreated: 'create',
  ValuesRevealed: 'read',
  AuditRead: 'read',
  GrantRevoked: 'delete',
  SubjectErased: 'delete',
  ProcessStarted: 'other',
  SignedIn: 'other',
  SignInRefused: 'other',
};

/** Events that say that something was not allowed. A response counts by what it leads to. */
const denying: ReadonlySet<string> = new Set(['ToolCallBlocked', 'RequestRefused', 'ApprovalExpired', 'SignInRefused']);
const allowing: ReadonlySet<string> = new Set(['ToolCallAllowed', 'ExecutionClaimed', 'GrantUsed']);
/** Events that a person should look at. */
const alerting: ReadonlySet<string> = new Set([
  ...denying,
  'ValuesRevealed',
  'ExecutionOutcomeUnknown',
  'ConfigurationChanged',
  'ConfigurationRefused',
  'PolicyActivated',
  'KeysRotated',
  'LogKeyChanged',
  'LogEndAccepted',
  'LogRestored',
  'StopDeclared',
  'StopLifted',
  'SubjectErased',
]);

/** What the tree over the log says of an event. */
export interface OcsfIntegrity {
  /** The leaf of the event, as 64 hex digits. */
  readonly leaf: string;
  /** The newest checkpoint; null: none is signed. */
  readonly checkpoint: { readonly origin: string; readonly size: number; readonly root: string } | null;
}

/**
 * An event as OCSF: class API Activity (6003) with the profiles `ai_operation` and `security_control`, and `record_integrity`
 * where the tree is given. What the event has besides is in `unmapped`, as it was shown to the reader.
 */
export function toOcsf(event: LogEventView, integrity?: OcsfIntegrity): JsonObject {
  const activity = activityOf[event.type] ?? (event.data === null ? 'other' : 'update');
  const severity = alerting.has(event.type) ? 3 : 1;
  return {
    ...{ category_uid: categoryUid, class_uid: classUid, type_uid: classUid * 100 + activities[activity] },
    ...{ category_name: 'Application Activity', class_name: 'API Activity' },
    ...{ activity_id: activities[activity], activity_name: nameOf(activity), severity_id: severity },
    ...(Number.isNaN(Date.parse(event.recordedAt)) ? {} : { time: Date.parse(event.recordedAt) }),
    status_id: 1,
    metadata: metadataOf(event, integrity !== undefined),
    actor: actorOf(event.actor),
    api: apiOf(event),
    src_endpoint: { name: textIn(event, 'via') ?? 'countersign', type_id: 99 },
    ...messageContextOf(event),
    ...controlOf(event),
    ...(integrity && integrityOf(event, integrity)),
    unmapped: event,
  };
}

/** One OCSF event a line. */
export async function* ocsfOf(
  pages: AsyncIterable<readonly LogEventView[]>,
  integrity: (eventId: string) => OcsfIntegrity | undefined = () => undefined,
): AsyncGenerator<string, void> {
  for await (const page of pages) {
    yield page.map((event) => `${JSON.stringify(toOcsf(event, integrity(event.eventId)))}\n`).join('');
  }
}

/** The leaf is the one of the event in the log, and not of this form of it. */
function integrityOf({ eventId }: LogEventView, { leaf, checkpoint }: OcsfIntegrity): JsonObject {
  const fingerprint = { algorithm_id: 99, algorithm: 'RFC 9162 leaf hash, SHA-256', value: leaf };
  const origin = checkpoint === null ? {} : { authority_uid: checkpoint.origin, chain_uid: checkpoint.origin };
  const name = 'attestation_list[].fingerprint.value';
  return {
    attestation_list: [{ uid: eventId, ...origin, fingerprint }],
    ...(checkpoint !== null && { enrichments: [{ name, value: leaf, type: 'checkpoint', data: checkpoint }] }),
  };
}

function metadataOf({ eventId, type, tenant, position, recordedAt }: LogEventView, hasIntegrity: boolean): JsonObject {
  return {
    version: hasIntegrity ? integrityVersion : schemaVersion,
    product: { name: 'Countersign', vendor_name: 'Countersign' },
    profiles: ['ai_operation', 'security_control', ...(hasIntegrity ? ['record_integrity'] : [])],
    ...{ uid: eventId, event_code: codeOfEvent(type), log_name: type, tenant_uid: tenant, sequence: position },
    original_time: recordedAt,
  };
}

function actorOf(actor: EventActor | null): JsonObject {
  const { kind, id } = actor ?? { kind: 'service', id: null };
  const name = id ?? 'unknown';
  if (kind === 'service') return { app_name: name };
  // 1: a user, 99: another kind, named in `type`.
  return { user: { name, uid: name, type_id: kind === 'person' ? 1 : 99, type: kind === 'person' ? 'User' : kind } };
}

function apiOf({ type, callId, toolName, runId }: LogEventView): JsonObject {
  return {
    operation: type,
    service: { name: toolName ?? 'countersign' },
    ...(callId !== null && { request: { uid: callId } }),
    ...(runId !== null && { group: { name: runId } }),
  };
}

/** The agent and its run. Version 1.8.0 has no object for an agent, so it is the application that asks in the role of an agent. */
function messageContextOf({ agentId, runId }: LogEventView): JsonObject {
  if (agentId === null) return {};
  const application = { name: agentId, uid: agentId };
  return { message_context: { application, ai_role_id: 4, ai_role: 'Agent', ...(runId !== null && { uid: runId }) } };
}

/** Whether it was allowed: 1 and 1, or 2 (denied) and 2 (blocked). Other events say neither. */
function controlOf(event: LogEventView): JsonObject {
  const verdict = verdictOf(event);
  const policy = policyOf(event);
  if (verdict === undefined) return policy;
  const [action, disposition] = verdict === 'denied' ? ['Denied', 'Blocked'] : ['Allowed', 'Allowed'];
  const id = verdict === 'denied' ? 2 : 1;
  return { action_id: id, action, disposition_id: id, disposition, is_alert: alerting.has(event.type), ...policy };
}

function verdictOf(event: LogEventView): 'allowed' | 'denied' | undefined {
  if (denying.has(event.type)) return 'denied';
  if (allowing.has(event.type)) return 'allowed';
  if (event.type !== 'ApprovalResponded') return undefined;
  const resolution = textIn(event, 'resolution');
  if (resolution === 'denied') return 'denied';
  return resolution === 'approved' ? 'allowed' : undefined;
}

function policyOf({ data }: LogEventView): JsonObject {
  const verdict = data?.['verdict'];
  if (typeof verdict !== 'object' || verdict === null || Array.isArray(verdict)) return {};
  const { ruleId, policyVersion } = verdict as JsonObject;
  if (typeof ruleId !== 'string') return {};
  return { policy: { name: ruleId, ...(typeof policyVersion === 'string' && { version: policyVersion }) } };
}

function textIn({ data }: LogEventView, name: string): string | undefined {
  const value = data?.[name];
  return typeof value === 'string' ? value : undefined;
}

function nameOf(activity: Activity): string {
  return activity.slice(0, 1).toUpperCase() + activity.slice(1);
}
