import { currentSchemaVersion, readablePart, runCancellationStream } from '@countersign/contracts';
import type { GrantTerms, NewEvent, RunEvent, Refusal } from '@countersign/contracts';
import { notOwner } from '@countersign/domain';
import { appendUntilKnown, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { uuidV5 } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import { reachOf } from '../actor.js';
import type { Actor } from '../actor.js';
import { proofOf } from '../proof.js';
import { cancelToolCall } from './cancel-call.js';
import { cancelWaitingFirst } from './cancel-waiting.js';
import { revokeOfRun } from './revoke-of-run.js';
import type { Result } from '../result.js';
import type { CommandPorts } from '../ports.js';
import { reusedKey } from '../stream/repeats.js';
import { UnreadableStreamError, unreadableRefusal } from '../stream/unreadable-stream.js';
import type { Refused } from '../stream/with-tool-call.js';

/** A call that is not settled, and the principal that requested it. */
export interface OpenCall {
  readonly callId: string;
  readonly requestedBy: string;
  /** It is sequential, and waits for calls before it. */
  readonly waitsForTurn?: true;
}

/** The open calls of a run, and every principal that requested a call of it, settled or not. */
export interface OpenCallsOfRun {
  readonly calls: readonly OpenCall[];
  readonly requesters: readonly string[];
  /** The grants for this run alone that have not ended. */
  readonly grants: readonly GrantTerms[];
}

/** What is open in a run. MUST know every call and every grant that was recorded before it was asked. */
export interface OpenCalls {
  /** @throws ViewsBehindError while the read model lags. */
  readonly of: (tenant: string, runId: string) => Promise<OpenCallsOfRun>;
}

export interface CancelRunPorts {
  readonly commands: CommandPorts;
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'lossOf'>;
  readonly openCalls: OpenCalls;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** A run whose open calls are no longer wanted. `requestedBy`: only those of this principal. */
export interface CancelledRun {
  readonly runId: string;
  readonly reason: string;
  readonly requestedBy?: string;
  /** After this time a repeat that leaves an open call is refused. Default: it is answered for ever. */
  readonly repeatedForMs?: number;
}

/** The effect of the cancellation of a run on one of its calls. */
export interface CancelledCall {
  readonly callId: string;
  readonly outcome: Result<unknown>;
}

/** The outcome for every call that was open, and the position of the last event; 0 when nothing was recorded. */
export interface RunCancellation {
  readonly calls: readonly CancelledCall[];
  readonly position: number;
}

/** A call that could not be cancelled, and why. */
export interface NotCancelled {
  readonly callId: string;
  readonly refusal: Refusal;
}

/** The number of ids that fit into one append of EventStoreDB. */
const callIdsMax = 20_000;
const eventIds = '1c1f3c9a-7f57-5f0e-8a3e-3d1b9f0a6c58';

/**
 * Cancels the open calls of a run that the actor may cancel: its own ones; an admin may cancel all. Their list is
 * recorded first: the same message, delivered again after later requests, must not cancel those. The calls of others are
 * refused as `forbidden`. Nothing is recorded for an actor that has no call in a run of others. The grants for this run end
 * with it, before its calls: a call that is requested afterwards needs a person.
 */
export async function cancelRun(
  ports: CancelRunPorts,
  actor: Actor,
  run: CancelledRun,
  commandId: string,
): Promise<RunCancellation | Refused> {
  const open = await ports.openCalls.of(actor.tenant, run.runId);
  const share = shareOf(actor, run, open);
  const listed = await listedOnce(ports, actor, run, share, commandId);
  if (isOfAnother(listed, run) || isTooOld(ports, listed, run, share)) return reusedKey;
  const revokedAt = await revokeOfRun(ports, actor.tenant, run.runId, grantsToEnd(actor, run, open, listed), commandId);
  const calls = await cancelWaitingFirst(listed.callIds, open.calls, (callId) =>
    cancelToolCall(ports.commands, actor, callId, run.reason, commandId),
  );
  const positions = calls.map(({ outcome }) => (outcome.status === 'done' ? outcome.position : 0));
  const position = positions.reduce((latest, one) => Math.max(latest, one), Math.max(listed.position, revokedAt));
  return { calls: [...calls, ...share.refused], position };
}

function isOfAnother({ recordedAs }: Recorded, { runId, reason }: CancelledRun): boolean {
  return recordedAs !== undefined && (recordedAs.runId !== runId || recordedAs.reason !== reason);
}

/** Attack on the stop of a run: its key was used before, so it is told as done, and the calls that were requested since go on. */
function isTooOld(
  { clock }: CancelRunPorts,
  { recordedAt, callIds }: Recorded,
  { repeatedForMs }: CancelledRun,
  share: Share,
): boolean {
  if (recordedAt === undefined || repeatedForMs === undefined) return false;
  if (clock.now() - Date.parse(recordedAt) < repeatedForMs) return false;
  const listed = new Set(callIds);
  return share.callIds.some((callId) => !listed.has(callId));
}

/** Returns the calls that are still open, and why. A call that ended during the cancellation is none of them. */
export function notCancelledOf({ calls }: RunCancellation): readonly NotCancelled[] {
  return calls.flatMap(({ callId, outcome }) => {
    // It ended while it was being looked at, perhaps with a sibling of its batch.
    if (outcome.status === 'done' || outcome.refusal.code === 'already-settled') return [];
    return [{ callId, refusal: outcome.refusal }];
  });
}

/** The part of a run that an actor may cancel. */
interface Share {
  readonly callIds: readonly string[];
  /** The open calls of others. */
  readonly refused: readonly CancelledCall[];
  /** The run is one of others: the actor has no call in it, and is no admin. */
  readonly isForeign: boolean;
}

/** Attack: an agent cancels the run of another, so that the log says for everybody that it did. */
function shareOf(actor: Actor, { requestedBy }: CancelledRun, { calls, requesters }: OpenCallsOfRun): Share {
  const reach = reachOf(actor);
  const callIds: string[] = [];
  const refused: CancelledCall[] = [];
  for (const call of calls) {
    if (requestedBy !== undefined && call.requestedBy !== requestedBy) continue;
    const notOwned = notOwner({ request: call }, actor.principal, reach);
    if (notOwned?.status === 'refused') refused.push({ callId: call.callId, outcome: notOwned });
    else callIds.push(call.callId);
  }
  const owns = reach === 'any' || callIds.length > 0 || requesters.includes(actor.principal);
  return { callIds, refused, isForeign: requesters.length > 0 && !owns };
}

/**
 * A repeat ends no grant that a person gave after the cancellation. Where the calls of one principal are cancelled, the grants
 * that name another stay.
 */
function grantsToEnd(
  actor: Actor,
  run: CancelledRun,
  { grants }: OpenCallsOfRun,
  { recordedAt = '' }: Recorded,
): readonly GrantTerms[] {
  const principal = run.requestedBy ?? (reachOf(actor) === 'any' ? undefined : actor.principal);
  return grants.filter(
    ({ createdAt, requestedBy }) =>
      createdAt <= recordedAt && (principal === undefined || requestedBy === undefined || requestedBy === principal),
  );
}

async function listedOnce(
  ports: CancelRunPorts,
  actor: Actor,
  { runId, reason }: CancelledRun,
  share: Share,
  commandId: string,
): Promise<Recorded> {
  const { store, clock } = ports;
  const stream = runCancellationStream(commandId);
  // Another process may have the same message at the same time: what is recorded counts.
  for (;;) {
    const recorded = await recordedIn(store, stream);
    if (recorded.isWhole || (recorded.count === 0 && share.isForeign)) return recorded;
    const known = new Set(recorded.callIds);
    const left = share.callIds.filter((callId) => !known.has(callId));
    const cancelledAt = new Date(clock.now()).toISOString();
    const callIds = left.slice(0, callIdsMax);
    const more = left.length > callIdsMax ? ({ more: true } as const) : {};
    const event: NewEvent<RunEvent> = {
      eventId: uuidV5(eventIds, recorded.count === 0 ? stream : `${stream}:${String(recorded.count)}`),
      type: 'RunCancelled',
      data: { runId, callIds, ...more, reason, cancelledBy: actor.principal, cancelledAt, ...proofOf(actor) },
      metadata: { tenant: actor.tenant, callId: null, runId, schemaVersion: currentSchemaVersion, commandId },
    };
    await appendUntilKnown(ports, stream, recorded.count === 0 ? noStream : recorded.count - 1, [event]);
  }
}

interface Recorded {
  /** When the list was begun, by the store's clock. Undefined: nothing is recorded. */
  readonly recordedAt: string | undefined;
  /** The run and the reason that the list was begun with. Undefined: nothing is recorded. */
  readonly recordedAs: Pick<CancelledRun, 'runId' | 'reason'> | undefined;
  readonly callIds: readonly string[];
  readonly count: number;
  readonly isWhole: boolean;
  readonly position: number;
}

async function recordedIn(store: Pick<EventStore, 'readStream'>, stream: string): Promise<Recorded> {
  const { events: recorded, unreadable } = readablePart(await store.readStream(stream));
  if (unreadable !== undefined) throw new UnreadableStreamError(unreadableRefusal(unreadable));
  const events = recorded.map(({ data }) => data as RunEvent['data']);
  const last = events.at(-1);
  return {
    recordedAt: recorded.at(0)?.recordedAt,
    recordedAs: events.at(0),
    callIds: events.flatMap(({ callIds }) => callIds),
    count: events.length,
    isWhole: last !== undefined && last.more !== true,
    position: recorded.at(-1)?.position ?? 0,
  };
}
