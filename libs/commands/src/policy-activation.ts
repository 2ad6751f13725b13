import type { NewEvent, PolicyEvent } from '@countersign/contracts';
import { currentSchemaVersion } from '@countersign/contracts';
import { EventStoreUnavailableError, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { builtInPolicyContent, createPolicy } from '@countersign/policy';
import type { Policy, PolicyContent } from '@countersign/policy';
import { uuidV5 } from '@countersign/runtime';

const namespace = '0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a10';
const triesMax = 5;

/**
 * Records the policy in force when the log has another one: a verdict cites its version, and an auditor finds its
 * content. Null is the built-in policy, recorded only when it replaces a file. Processes that start together with the
 * same policy record it once.
 * @throws EventStoreUnavailableError when the store cannot be written now.
 */
export async function recordPolicy(
  store: Pick<EventStore, 'append' | 'readStream'>,
  content: PolicyContent | null,
  activatedAt: string,
): Promise<void> {
  const policy = createPolicy(content ?? builtInPolicyContent('default'));
  const stream = `policy-${policy.tenant}`;
  for (let tries = 0; tries < triesMax; tries += 1) {
    const events = await store.readStream(stream);
    const last = events.at(-1);
    const lastVersion = last === undefined ? undefined : (last.data as PolicyEvent['data']).policyVersion;
    if (lastVersion === policy.version || (lastVersion === undefined && content === null)) return;
    const revision = last?.revision ?? noStream;
    const result = await store.append(stream, revision, [activation(policy, stream, revision, activatedAt)]);
    // Another process was first, or the outcome is unknown: the stream shows what is in force.
    if (result.status === 'committed') return;
  }
  throw new EventStoreUnavailableError('the policy could not be recorded: the event store did not say what it wrote');
}

function activation(policy: Policy, stream: string, revision: number, activatedAt: string): NewEvent<PolicyEvent> {
  const commandId = `activate:${String(revision + 1)}:${policy.version}`;
  return {
    eventId: uuidV5(namespace, `${stream}:${commandId}`),
    type: 'PolicyActivated',
    data: { policyVersion: policy.version, content: policy.content, activatedBy: 'operator', activatedAt },
    metadata: { tenant: policy.tenant, callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId },
  };
}
