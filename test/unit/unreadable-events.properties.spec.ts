import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { claim, createWriteSide, fireDue, reportExecution, requestToolCalls, respond } from '@countersign/commands';
import type { Actor, CommandPorts, Result } from '@countersign/commands';
import { approvalIdOf, deriveCallId, toLogEvent, toolCallStream } from '@countersign/contracts';
import type { LogEvent, NewEvent, StoredEvent } from '@countersign/contracts';
import { createUnreadableWatch, noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSimulatedEventStore } from '@countersign/event-store/testing';
import { openReadModel, toToolCallView } from '@countersign/read-model';
import type { FileReadModel } from '@countersign/read-model';
import { uuidV5 } from '@countersign/runtime';
import type { Ids } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-unreadable-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const calls = 4;
const names = Array.from({ length: calls }, (_, index) => `call-${String(index)}`);
const callIds = names.map((name) => deriveCallId('default', 'run-1', name));
const actor = (principal: string, role: 'agent' | 'approver' | 'resolver'): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role]), groups: [], agentIds: ['*'], via: 'api' },
  assurance: 'medium',
});
const [agent, ann, worker] = [actor('agent', 'agent'), actor('ann', 'approver'), actor('worker', 'resolver')];

/** What a later version, a half-written migration or a hand may have left in the log. */
type Junk = (event: NewEvent) => Pick<StoredEvent, 'type' | 'data' | 'metadata'>;

const metadataOf = (event: NewEvent, change: object): StoredEvent['metadata'] => ({ ...event.metadata, ...change });
const junk: fc.Arbitrary<Junk> = fc.oneof(
  fc.uint8Array().map((bytes): Junk => (event) => ({ ...event, data: Buffer.from(bytes).toString('latin1') })),
  fc.jsonValue().map((data): Junk => (event) => ({ ...event, data })),
  fc.constant<Junk>((event) => ({ ...event, type: 'ToolCallForgotten' })),
  fc.constant<Junk>((event) => ({ ...event, metadata: metadataOf(event, { schemaVersion: 3 }) })),
  fc.constant<Junk>((event) => ({ ...event, type: 'ApprovalResponded', data: {} })),
  fc.constant<Junk>((event) => ({ ...event, metadata: metadataOf(event, { callId: undefined, tenant: 7 }) })),
);

/** An event in the place of others; a stream of no call is another's. */
const places = [...callIds.map(toolCallStream), 'policy-default', 'batch-x', 'delivery-x', 'grant-x'];
const broken = fc.array(fc.record({ before: fc.nat({ max: calls * 4 }), stream: fc.constantFrom(...places), junk }), {
  minLength: 1,
  maxLength: 4,
});
const order = fc.shuffledSubarray(
  callIds.flatMap((_, index) => [index, index, index, index]),
  { minLength: calls * 2 },
);

interface World {
  readonly store: EventStore;
  readonly commands: CommandPorts;
  readonly readModel: FileReadModel;
  readonly clock: ReturnType<typeof createVirtualClock>;
  readonly told: () => readonly string[];
  readonly close: () => Promise<void>;
}

let worlds = 0;

/** A process whose store decodes everything that it reads, as a real one does. */
async function openWorld(): Promise<World> {
  const clock = createVirtualClock();
  const raw = createSimulatedEventStore({ clock });
  const log = createCollectingLog();
  const decoded = (events: readonly LogEvent[]): readonly LogEvent[] =>
    events.map((event) => toLogEvent(event as StoredEvent));
  const watch = createUnreadableWatch(log);
  const store = watch.over({
    ...raw,
    readStream: async (...given) => decoded(await raw.readStream(...given)),
    readAll: async (...given) => decoded(await raw.readAll(...given)),
    subscribe: (after, handler) =>
      raw.subscribe(after, { ...handler, onEvents: (events) => handler.onEvents(decoded(events)) }),
  });
  let made = 0;
  const ids: Ids = {
    uuid: () => uuidV5('0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a10', String((made += 1))),
    randomBytes: (count) => new Uint8Array(count),
  };
  const readModel = await openReadModel({ file: join(folder, `${String((worlds += 1))}.db`), source: store, log });
  const errors: unknown[] = [];
  store.subscribe(0, { onEvents: readModel.apply, onError: (error) => errors.push(error) });
  await new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ store, readModel, clock },
    commands: createWriteSide({ store, tools: { find: () => undefined }, ids, log }),
    told: () => watch.streams().map(({ stream }) => stream),
    close: async () => {
      readModel.close();
      await raw.close();
      expect(errors).toEqual([]);
    },
  };
}

/** The next step in the life of a call: asked, approved, claimed, reported. */
async function advance({ commands }: World, index: number, step: number): Promise<string> {
  const [callId = '', toolCallId = ''] = [callIds[index], names[index]];
  const id = `${callId}:${String(step)}`;
  const call = { toolName: 'pay', toolCallId, arguments: {}, needsApproval: true };
  const steps: readonly (() => Promise<Result<unknown>>)[] = [
    () => requestToolCalls(commands, agent, { runId: 'run-1', calls: [call] }, id),
    () => respond(commands, ann, approvalIdOf(callId, 1), { decision: { type: 'approve' } }, id),
    () => claim(commands, worker, callId, { resolverId: 'w' }, id),
    () => reportExecution(commands, worker, callId, { attempt: 1, status: 'succeeded', output: 1 }, id),
  ];
  try {
    const outcome = await steps[step]?.();
    return outcome?.status === 'refused' ? outcome.refusal.code : 'done';
  } catch (error) {
    return (error as { refusal?: { code: string } }).refusal?.code ?? String(error);
  }
}

interface Ended {
  readonly outcomes: readonly (readonly string[])[];
  readonly views: readonly unknown[];
  readonly told: readonly string[];
}

async function live(
  steps: readonly number[],
  breaks: readonly { before: number; stream: string; junk: Junk }[],
): Promise<Ended> {
  const world = await openWorld();
  const outcomes: string[][] = callIds.map(() => []);
  for (const [at, index] of steps.entries()) {
    for (const one of breaks) if (one.before === at) await writeJunk(world, one.stream, one.junk);
    const done = outcomes[index] ?? [];
    done.push(await advance(world, index, done.length));
  }
  for (const one of breaks) if (one.before >= steps.length) await writeJunk(world, one.stream, one.junk);
  // Whatever is open ends at its deadline, in a process that has read nothing before.
  world.clock.advance(400 * 86_400_000);
  for (let round = 0; round < 3; round += 1) {
    for (const { tenant, callId } of world.readModel.due(world.clock.now(), 100))
      await fireDue(world.commands, tenant, callId);
  }
  const views = callIds.map((callId) => {
    const row = world.readModel.toolCall('default', callId);
    return row === undefined ? null : toToolCallView(row, 'whole');
  });
  const told = world.told();
  await world.close();
  return { outcomes, views, told };
}

async function writeJunk({ store }: World, stream: string, make: Junk): Promise<void> {
  const callId = stream.startsWith('toolCall-') ? stream.slice('toolCall-'.length) : null;
  const event: NewEvent = {
    ...{ eventId: uuidV5('0f5a4a7c-9f0e-5d5e-8f36-6f1f6c2d9a11', stream + String(worlds)), type: 'ApprovalLapsed' },
    data: { approvalId: 'x', lapsedAt: '2030-01-01T00:00:00.000Z' },
    metadata: { tenant: 'default', callId, runId: 'run-1', schemaVersion: 2, commandId: 'junk' },
  };
  const end = (await store.readStream(stream)).at(-1)?.revision ?? noStream;
  await store.append(stream, end, [{ ...event, ...make(event) } as NewEvent]);
}

it('an event that cannot be read, anywhere in the log, changes the end of no other call, and nothing runs on its own', async () => {
  await fc.assert(
    fc.asyncProperty(order, broken, async (steps, breaks) => {
      const [whole, hurt] = [await live(steps, []), await live(steps, breaks)];
      for (const [index, callId] of callIds.entries()) {
        const own = breaks.filter(({ stream }) => stream === toolCallStream(callId));
        if (own.length === 0) {
          expect(hurt.outcomes[index]).toEqual(whole.outcomes[index]);
          expect(hurt.views[index]).toEqual(whole.views[index]);
        } else {
          expect(hurt.told).toContain(toolCallStream(callId));
          const asked = steps.flatMap((one, at) => (one === index ? [at] : []));
          const from = Math.min(...own.map(({ before }) => before));
          const after = (hurt.outcomes[index] ?? []).filter((_, nth) => (asked[nth] ?? 0) >= from);
          expect(after.filter((code) => code !== 'unreadable')).toEqual([]);
        }
      }
    }),
    { numRuns: 40 },
  );
});
