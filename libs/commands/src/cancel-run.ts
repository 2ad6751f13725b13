import { currentSchemaVersion, runCancellationStream } from '@countersign/contracts';
import type { NewEvent, RunEvent, Refusal } from '@countersign/contracts';
import { appendUntilKnown, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { sideBySide, uuidV5 } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import type { Actor } from './actor.js';
import { cancelToolCall } from './ask-and-cancel.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';

/** The calls of a run that are not settled. MUST know every call that was recorded before it was asked. */
export interface OpenCalls {
  /**
   * Returns their callIds; `requestedBy`: only the calls of this principal. @throws ViewsBehindError while the read
   * model lags.
   */
  readonly of: (tenant: string, runId: string, requestedBy?: string) => Promise<readonly string[]>;
}

export interface CancelRunPorts {
  readonly commands: CommandPorts;
  readonly store: Pick<EventStore, 'append' | 'readStream'>;
  readonly openCalls: OpenCalls;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A run whose open calls are no longer wanted. `requestedBy`: only those of this principal. */
export interface CancelledRun {
  readonly runId: string;
  readonly reason: string;
  readonly requestedBy?: string;
}

/** What the cancellation of a run did to one of its calls. */
export interface CancelledCall {
  readonly callId: string;
  readonly outcome: Result<unknown>;
}

/** The outcome for every call that was open, and the position of the last event. */
export interface RunCancellation {
  readonly calls: readonly CancelledCall[];
  readonly position: number;
}

/** A call that could not be cancelled, and why. */
export interface NotCancelled {
  readonly callId: string;
  readonly refusal: Refusal;
}

/** The number of calls in memory at once: a run may have thousands, each with large arguments. */
const atOnce = 32;
/** The number of ids that fit into one append of EventStoreDB. */
const callIdsMax = 20_000;
const eventIds = '1c1f3c9a-7f57-5f0e-8a3e-3d1b9f0a6c58';

/**
 * Cancels the open calls of a run. The list is recorded first: the same message, delivered again after later requests,
 * must not cancel those.
 */
export async function cancelRun(
  ports: CancelRunPorts,
  actor: Actor,
  run: CancelledRun,
  commandId: string,
): Promise<RunCancellation> {
  const listed = await openOnce(ports, actor, run, commandId);
  const calls = await sideBySide(listed.callIds, atOnce, async (callId) => ({
    callId,
    outcome: await cancelToolCall(ports.commands, actor, callId, run.reason, commandId),
  }));
  const positions = calls.map(({ outcome }) => (outcome.status === 'done' ? outcome.position : 0));
  return { calls, position: positions.reduce((latest, one) => Math.max(latest, one), listed.position) };
}

/** Returns the calls that are still open, and why. A call that ended during the cancellation is none of them. */
export function notCancelledOf({ calls }: RunCancellation): readonly NotCancelled[] {
  return calls.flatMap(({ callId, outcome }) => {
    // It ended while it was being looked at, perhaps with a sibling of its batch.
    if (outcome.status === 'done' || outcome.refusal.code === 'already-settled') return [];
    return [{ callId, refusal: outcome.refusal }];
  });
}

async function openOnce(
  ports: CancelRunPorts,
  actor: Actor,
  { runId, reason, requestedBy }: CancelledRun,
  commandId: string,
): Promise<Recorded> {
  const { store, openCalls, clock } = ports;
  const stream = runCancellationStream(commandId);
  // Another process may have the same message at the same time: what is recorded counts.
  for (;;) {
    const recorded = await recordedIn(store, stream);
    if (recorded.isWhole) return recorded;
    const known = new Set(recorded.callIds);
    const left = (await openCalls.of(actor.tenant, runId, requestedBy)).filter((callId) => !known.has(callId));
    const cancelledAt = new Date(clock.now()).toISOString();
    const callIds = left.slice(0, callIdsMax);
    const more = left.length > callIdsMax ? ({ more: true } as const) : {};
    const event: NewEvent<RunEvent> = {
      eventId: uuidV5(eventIds, recorded.count === 0 ? stream : `${stream}:${String(recorded.count)}`),
      type: 'RunCancelled',
      data: { runId, callIds, ...more, reason, cancelledBy: actor.principal, cancelledAt },
      metadata: { tenant: actor.tenant, callId: null, runId, schemaVersion: currentSchemaVersion, commandId },
    };
    await appendUntilKnown(ports, stream, recorded.count === 0 ? noStream : recorded.count - 1, [event]);
  }
}

interface Recorded {
  readonly callIds: readonly string[];
  readonly count: number;
  readonly isWhole: boolean;
  readonly position: number;
}

async function recordedIn(store: Pick<EventStore, 'readStream'>, stream: string): Promise<Recorded> {
  const recorded = await store.readStream(stream);
  const events = recorded.map(({ data }) => data as RunEvent['data']);
  const last = events.at(-1);
  return {
    callIds: events.flatMap(({ callIds }) => callIds),
    count: events.length,
    isWhole: last !== undefined && last.more !== true,
    position: recorded.at(-1)?.position ?? 0,
  };
}
