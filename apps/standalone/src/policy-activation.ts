import type { NewEvent, PolicyEvent } from '@countersign/contracts';
import { currentSchemaVersion } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { Policy } from '@countersign/policy';
import { uuidV5 } from '@countersign/runtime';

const namespace = '0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a10';

/**
 * Records which policy judges from now on, when it is another one than the log knows: a verdict cites its version, and an
 * auditor finds its content. The built-in policy is recorded only where it takes the place of a file.
 */
export async function recordPolicy(
  store: EventStore,
  policy: Policy,
  options: { readonly isBuiltIn: boolean; readonly activatedAt: string },
): Promise<void> {
  const stream = `policy-${policy.tenant}`;
  const events = await store.readStream(stream);
  const last = events.at(-1);
  const lastVersion = last === undefined ? undefined : (last.data as PolicyEvent['data']).policyVersion;
  if (lastVersion === policy.version || (lastVersion === undefined && options.isBuiltIn)) return;
  const revision = last?.revision ?? noStream;
  const commandId = `activate:${String(revision + 1)}:${policy.version}`;
  const event: NewEvent<PolicyEvent> = {
    eventId: uuidV5(namespace, `${stream}:${commandId}`),
    type: 'PolicyActivated',
    data: {
      policyVersion: policy.version,
      content: policy.content,
      activatedBy: 'operator',
      activatedAt: options.activatedAt,
    },
    metadata: { tenant: policy.tenant, callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId },
  };
  const result = await store.append(stream, revision, [event]);
  if (result.status !== 'committed') throw new Error(`the policy could not be recorded: ${result.status}`);
}
