import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { claim, createWriteSide, requestToolCalls } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { currentSchemaVersion, deriveCallId, runCancellationStream, toLogEvent } from '@countersign/contracts';
import type { StoredEvent } from '@countersign/contracts';
import { createUnreadableWatch, noStream, openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore, EventStore } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import { createSystemIds, systemClock as clock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import type { ReadinessCheck } from '@countersign/shell';
import { followForbidding } from './resolver.js';

const [log, ids] = [createSilentLog(), createSystemIds()];
const actor: Actor = {
  ...{ tenant: 'default', principal: 'agent', roles: new Set(['agent', 'resolver'] as const), groups: [] },
  ...{ agentIds: ['*'], via: 'api', assurance: 'medium' },
};
let folder: string;
let store: EmbeddedEventStore;
let stopping: AbortController;
let stops: (() => void | Promise<void>)[];
let checks: Map<string, ReadinessCheck>;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-resolver-'));
  store = await openEmbeddedEventStore({ folder, clock, log });
  [stopping, stops, checks] = [new AbortController(), [store.close], new Map<string, ReadinessCheck>()];
});
afterEach(async () => {
  stopping.abort(new Error('the test is over'));
  for (const stop of stops.reverse()) await stop();
  rmSync(folder, { recursive: true });
});

/** The embedded store passes on what it has just recorded; another process decodes it. */
function asAnotherProcess(own: EventStore): EventStore {
  return {
    ...own,
    subscribe: (after, handler) =>
      own.subscribe(after, {
        ...handler,
        onEvents: (events) => handler.onEvents(events.map((event) => toLogEvent(event as StoredEvent))),
      }),
  };
}

/** A resolver's commands, which follow no log but the cancellations. */
async function openResolver(): Promise<CommandPorts> {
  const unreadable = createUnreadableWatch(log);
  const watched = unreadable.over(asAnotherProcess(store));
  const check = (one: ReadinessCheck): void => void checks.set(one.name, one);
  const onStop = (stop: () => void | Promise<void>): void => void stops.push(stop);
  await followForbidding({ clock, log, stopping: stopping.signal, check, onStop }, { store: watched });
  return createWriteSide({ store: watched, forbidding: unreadable, tools: { find: () => undefined }, ids, log });
}

const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);
const request = async (commands: CommandPorts, ...toolCallIds: readonly string[]) =>
  requestToolCalls(
    commands,
    actor,
    { runId: 'run-1', calls: toolCallIds.map((toolCallId) => ({ toolName: 'read', toolCallId, arguments: {} })) },
    ids.uuid(),
  );
const claimed = async (commands: CommandPorts, toolCallId: string): Promise<string> => {
  const outcome = await claim(commands, actor, callId(toolCallId), { resolverId: 'r' }, ids.uuid());
  return outcome.status === 'refused' ? outcome.refusal.code : 'claimed';
};

async function cancelLater(runId: string): Promise<void> {
  const event = sampleEvent();
  const metadata = { ...event.metadata, runId, schemaVersion: currentSchemaVersion + 1 };
  await store.append(runCancellationStream(ids.uuid()), noStream, [{ ...event, type: 'RunCancelled', metadata }]);
}

it('claims no call of a run whose cancellation cannot be read, from before its start and from then on', async () => {
  const other = createWriteSide({ store, tools: { find: () => undefined }, ids, log });
  await request(other, 'a', 'b');
  const running = await openResolver();
  expect(await checks.get('cancellations')?.check()).toEqual({ status: 'ok' });
  expect(await claimed(running, 'a')).toBe('claimed');
  await cancelLater('run-2');
  await cancelLater('run-1');
  expect(await claimed(running, 'b')).toBe('unreadable');
  expect(await claimed(await openResolver(), 'b')).toBe('unreadable');
});
