import type { LogEvent, NewEvent, PolicyEvent } from '@countersign/contracts';
import { currentSchemaVersion, isReadable } from '@countersign/contracts';
import { EventStoreUnavailableError, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { builtInPolicyContent } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import { uuidV5 } from '@countersign/runtime';

const namespace = '0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a10';
const triesMax = 5;

type PolicyStore = Pick<EventStore, 'append' | 'readStream'>;

/**
 * Records the policy in force when the log has another one: a verdict cites its version, and an auditor finds its
 * content. Null is the built-in policy, recorded only when it replaces a file. Processes that start together with the
 * same policy record it once.
 * @throws EventStoreUnavailableError when the store cannot be written now.
 */
export async function recordPolicy(
  store: PolicyStore,
  content: PolicyContent | null,
  activatedAt: string,
): Promise<void> {
  const { tenant, version, source } = content ?? builtInPolicyContent('default');
  await recordOnce(
    store,
    { ...{ type: 'PolicyActivated', stream: `policy-${tenant}`, tenant }, version, source, activatedAt },
    content === null,
  );
}

/**
 * Records, in a stream of its own, a candidate policy that is about to judge in addition to the one in force. One that
 * is the last in the log is not recorded again.
 * @throws EventStoreUnavailableError as {@link recordPolicy}.
 */
export async function recordShadowPolicy(
  store: PolicyStore,
  { tenant, version, source }: PolicyContent,
  activatedAt: string,
): Promise<void> {
  const stream = shadowPolicyStream(tenant);
  await recordOnce(store, { type: 'ShadowPolicyActivated', stream, tenant, version, source, activatedAt });
}

/** The stream of a tenant's candidate policies. */
export function shadowPolicyStream(tenant: string): string {
  return `shadow-policy-${tenant}`;
}

interface Activation extends Pick<PolicyContent, 'tenant' | 'version' | 'source'> {
  readonly type: PolicyEvent['type'];
  readonly stream: string;
  readonly activatedAt: string;
}

/** Appends the activation unless the last one in the stream is of the same version. */
async function recordOnce(store: PolicyStore, activated: Activation, isDefault = false): Promise<void> {
  const { stream, version } = activated;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const events = await store.readStream(stream);
    const last = events.at(-1);
    const lastVersion = last === undefined ? undefined : versionOf(last);
    if (lastVersion === version || (lastVersion === undefined && isDefault)) return;
    const revision = last?.revision ?? noStream;
    const result = await store.append(stream, revision, [toEvent(activated, revision)]);
    // Another process was first, or the outcome is unknown: the stream shows what is in force.
    if (result.status === 'committed') return;
  }
  throw new EventStoreUnavailableError('the policy could not be recorded: the event store did not say what it wrote');
}

/** One that cannot be read is another version than every known one: what is in force is recorded after it. */
function versionOf(activation: LogEvent): string {
  return isReadable(activation) ? (activation.data as PolicyEvent['data']).policyVersion : '';
}

function toEvent(
  { type, stream, tenant, version, source, activatedAt }: Activation,
  revision: number,
): NewEvent<PolicyEvent> {
  const commandId = `activate:${String(revision + 1)}:${version}`;
  return {
    eventId: uuidV5(namespace, `${stream}:${commandId}`),
    type,
    data: { policyVersion: version, content: source, activatedBy: 'operator', activatedAt },
    metadata: { tenant, callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId },
  };
}
