import type { Actor, Commands, Rejection } from '@countersign/commands';
import { currentSchemaVersion, runCancellationStream } from '@countersign/contracts';
import type { NewEvent, RunEvent } from '@countersign/contracts';
import { appendUntilKnown, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { uuidV5 } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import type { OpenCalls } from './open-calls.js';

export interface CancelRunPorts {
  readonly commands: Pick<Commands, 'cancelToolCall'>;
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  readonly openCalls: OpenCalls;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A call that could not be cancelled, and why. */
export interface NotCancelled {
  readonly callId: string;
  readonly rejection: Rejection;
}

const eventIds = '1c1f3c9a-7f57-5f0e-8a3e-3d1b9f0a6c58';

/**
 * Cancels the open calls of a run. Which they are is recorded first: the same message delivered again, perhaps behind
 * requests that came after it, must not touch those.
 */
export async function cancelRun(
  ports: CancelRunPorts,
  actor: Actor,
  { runId, reason }: { readonly runId: string; readonly reason: string },
  commandId: string,
): Promise<readonly NotCancelled[]> {
  const callIds = await openOnce(ports, actor, { runId, reason }, commandId);
  const outcomes = await Promise.all(
    callIds.map(async (callId) => ({
      callId,
      outcome: await ports.commands.cancelToolCall(actor, callId, reason, commandId),
    })),
  );
  return outcomes.flatMap(({ callId, outcome }) => {
    // It ended while it was being looked at, perhaps with a sibling of its batch.
    if (outcome.status === 'done' || outcome.rejection.code === 'already-settled') return [];
    return [{ callId, rejection: outcome.rejection }];
  });
}

async function openOnce(
  ports: CancelRunPorts,
  actor: Actor,
  { runId, reason }: { readonly runId: string; readonly reason: string },
  commandId: string,
): Promise<readonly string[]> {
  const { store, openCalls, clock } = ports;
  const stream = runCancellationStream(commandId);
  const before = await recordedIn(store, stream);
  if (before !== undefined) return before;
  const callIds = [...(await openCalls.of(actor.tenant, runId))];
  const cancelledAt = new Date(clock.now()).toISOString();
  const event: NewEvent<RunEvent> = {
    eventId: uuidV5(eventIds, stream),
    type: 'RunCancelled',
    data: { runId, callIds, reason, cancelledBy: actor.principal, cancelledAt },
    metadata: { tenant: actor.tenant, callId: null, runId, schemaVersion: currentSchemaVersion, commandId },
  };
  await appendUntilKnown(ports, stream, noStream, [event]);
  // Another process may have had the same message at the same time: what is recorded counts.
  return (await recordedIn(store, stream)) ?? [];
}

async function recordedIn(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
): Promise<readonly string[] | undefined> {
  const [event] = await store.readStream(stream);
  return event === undefined ? undefined : (event.data as RunEvent['data']).callIds;
}
