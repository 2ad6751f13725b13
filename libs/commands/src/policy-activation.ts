import type { LogEvent, NewEvent, PolicyEvent, UnreadableEvent } from '@countersign/contracts';
import { currentSchemaVersion, isReadable, policyStream, shadowPolicyStream } from '@countersign/contracts';
import { EventStoreUnavailableError, noStream } from '@countersign/event-store';
import type { EventStore, Forbidding } from '@countersign/event-store';
import { builtInPolicyContent } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import { uuidV5 } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { UnreadableStreamError, unreadableRefusal } from './stream/unreadable-stream.js';

const namespace = '0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a10';
const triesMax = 5;

type PolicyStore = Pick<EventStore, 'append' | 'readStream'>;

/** An activation that this process cannot read, which the operator gives up by its id: what is in force is recorded after it. */
export interface AcceptedActivation {
  readonly accepted?: string | null;
}

/**
 * Records the policy in force when the log has another one: a verdict cites its version, and an auditor finds its
 * content. Null is the built-in policy, recorded only when it replaces a file. Processes that start together with the
 * same policy record it once. After an activation that cannot be read nothing is recorded: a later version may have put
 * a stricter policy in force, and the record of this one would hide it.
 * @throws EventStoreUnavailableError when the store cannot be written now.
 * @throws UnreadableStreamError when the last activation cannot be read, unless the operator gave it up.
 */
export async function recordPolicy(
  store: PolicyStore,
  content: PolicyContent | null,
  activatedAt: string,
  { accepted = null }: AcceptedActivation = {},
): Promise<void> {
  const { tenant, version, source } = content ?? builtInPolicyContent('default');
  await recordOnce(
    store,
    { ...{ type: 'PolicyActivated', stream: policyStream(tenant), tenant }, version, source, activatedAt },
    content === null,
    (last) => {
      if (!isReadable(last) && last.eventId !== accepted)
        throw new UnreadableStreamError(unreadableRefusal(withRemedy(last)));
    },
  );
}

/**
 * Records, at the start, the policy of a tenant. Where that is refused because the last activation cannot be read, the
 * process serves all else, and nothing of the tenant is judged until its next start: its own policy is not in the log.
 * @throws all that `record` throws otherwise.
 */
export async function recordAtStart(
  record: () => Promise<void>,
  tenant: string,
  forbidding: Forbidding,
  log: Log,
): Promise<Forbidding> {
  try {
    await record();
    return forbidding;
  } catch (error) {
    const held = error instanceof UnreadableStreamError ? forbidding.policyOf(tenant) : undefined;
    if (held === undefined) throw error;
    log.error({ error, tenant }, 'the policy in force cannot be read: nothing of this tenant is judged');
    return { ...forbidding, policyOf: (of) => forbidding.policyOf(of) ?? (of === tenant ? held : undefined) };
  }
}

function withRemedy(last: UnreadableEvent): UnreadableEvent {
  const remedy = `or give it up: COUNTERSIGN_ACCEPT_UNREADABLE_POLICY=${last.eventId}`;
  return { ...last, unreadable: `${last.unreadable}; ${remedy}` };
}

/** Returns the version of the policy that the log has in force for a tenant. An activation that cannot be read is no known version. */
export async function policyInForce(store: Pick<EventStore, 'readStream'>, tenant: string): Promise<string> {
  const last = (await store.readStream(policyStream(tenant))).at(-1);
  return last === undefined ? builtInPolicyContent(tenant).version : versionOf(last);
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

interface Activation extends Pick<PolicyContent, 'tenant' | 'version' | 'source'> {
  readonly type: PolicyEvent['type'];
  readonly stream: string;
  readonly activatedAt: string;
}

/** Appends the activation unless the last one in the stream is of the same version. */
async function recordOnce(
  store: PolicyStore,
  activated: Activation,
  isDefault = false,
  check: (last: LogEvent) => void = () => undefined,
): Promise<void> {
  const { stream, version } = activated;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const events = await store.readStream(stream);
    const last = events.at(-1);
    if (last === undefined ? isDefault : versionOf(last) === version) return;
    if (last !== undefined) check(last);
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
