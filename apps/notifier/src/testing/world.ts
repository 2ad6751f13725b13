import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Channel, ChannelsConfig } from '@countersign/channels';
import {
  createArgumentSchemas,
  createCommandHandler,
  createKeyedQueue,
  createKnownStops,
  fireDue,
  requestApproval,
  requestToolCalls,
  respond,
} from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { deliveryEventTypes, parseApprovalId } from '@countersign/contracts';
import type { DeliveryEvent, JsonObject, RecordedEvent } from '@countersign/contracts';
import { batchDecider, passkeyDecider, toolCallDecider } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createEmbeddedMessageBus, topicNames } from '@countersign/message-bus';
import type { MessageBus } from '@countersign/message-bus';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { openReadModel } from '@countersign/read-model';
import type { ReadModel } from '@countersign/read-model';
import { createSystemIds, systemClock } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import { readable } from '@countersign/event-store/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { createNotifierApp } from '../notifier-app.js';
import { createNotifier } from '../notifier.js';
import type { Notifier, NotifierOptions } from '../notifier-port.js';

/** A standalone ledger in a temporary folder, with a notifier. */
export interface World {
  readonly folder: string;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly bus: MessageBus;
  readonly commands: CommandPorts;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: CollectingLog;
  /** Requests a call that needs an approval. Returns its approvalId. */
  readonly ask: (toolCallId: string, change?: AskChange) => Promise<string>;
  readonly respond: (
    approvalId: string,
    type: 'approve' | 'deny',
    via?: string,
    principal?: string,
    groups?: readonly string[],
  ) => Promise<void>;
  /** Fires what is due: an approval expires or is escalated. */
  readonly fireDue: (approvalId: string) => Promise<void>;
  /** Requests the next round of a call. Returns its approvalId. */
  readonly askAgain: (approvalId: string) => Promise<string>;
  /** Starts a notifier; it is stopped with the world, or earlier by the caller. */
  readonly notify: (options: NotifyOptions) => Promise<Running>;
  readonly deliveries: () => Promise<readonly DeliveryEvent[]>;
  readonly close: () => Promise<void>;
}

export interface AskChange {
  readonly runId?: string;
  readonly toolName?: string;
  readonly arguments?: JsonObject;
  readonly reason?: string;
  readonly description?: string;
  readonly expiresInMs?: number;
  readonly labels?: Readonly<Record<string, string>>;
}

export interface NotifyOptions extends Partial<NotifierOptions> {
  readonly channels: readonly Channel[];
  readonly routes: ChannelsConfig['routes'];
  /** The name of its consumer groups. */
  readonly group?: string;
}

export interface Running {
  readonly notifier: Notifier;
  readonly stop: () => Promise<void>;
}

const person = { tenant: 'default', agentIds: [], assurance: 'medium' } as const;
const agent: Actor = { ...person, principal: 'agent', roles: new Set(['agent']), groups: [], via: 'api' };

/** Opens it; a folder that is given stays. `policy`: the text of its policy. */
export async function openWorld(given?: string, policy?: string): Promise<World> {
  const folder = given ?? mkdtempSync(join(tmpdir(), 'countersign-notifier-'));
  const [clock, ids, log] = [systemClock, createSystemIds(), createCollectingLog()];
  const store = await openEmbeddedEventStore({ folder, clock, log });
  const readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log });
  const projection = store.subscribe(readModel.checkpoint(), {
    onEvents: (events) => readModel.apply(events),
    onError: (error) => log.error({ error }, 'the projection failed'),
  });
  const bus = createEmbeddedMessageBus({ folder, topics: { [topicNames().events]: store }, clock, log });
  const commands: CommandPorts = {
    handler: createCommandHandler({ store, fold: toolCallDecider, clock, ids, cacheSize: 100 }),
    batches: createCommandHandler({ store, fold: batchDecider, clock, ids, cacheSize: 100 }),
    changesOfSteps: createKeyedQueue(),
    passkeys: {
      handler: createCommandHandler({ store, fold: passkeyDecider, clock, ids, cacheSize: 16 }),
      log: store,
      signCounts: new Map(),
    },
    stops: createKnownStops({ store, clock, ids }),
    policies: createPolicies(policy === undefined ? [] : [loadPolicy('policy.yaml', policy)]),
    tools: { find: () => undefined },
    schemas: createArgumentSchemas(),
    clock,
    ids,
    log,
  };
  const running = new Set<Running>();
  return {
    ...{ folder, store, readModel, bus, commands, clock, ids, log },
    ask: async (toolCallId, { runId = 'run-1', toolName = 'delete_file', ...change } = {}) => {
      const call = { toolCallId, toolName, arguments: { path: '/tmp/x' }, needsApproval: true, ...change };
      const body = { runId, batchMode: 'independent', calls: [call] } as unknown as Parameters<
        typeof requestToolCalls
      >[2];
      const outcome = await requestToolCalls(commands, agent, body, ids.uuid());
      if (outcome.status !== 'done') throw new Error(outcome.refusal.detail);
      await readModel.reached(outcome.position);
      const [row] = readModel.run('default', runId).filter(({ request }) => request.toolCallId === toolCallId);
      return row?.approvals.at(-1)?.approvalId ?? '';
    },
    respond: async (approvalId, type, via = 'inbox', principal = 'alice', groups = ['ops']) => {
      const alice: Actor = { ...person, principal, roles: new Set(['approver']), groups, via };
      const outcome = await respond(commands, alice, approvalId, { decision: { type } }, ids.uuid());
      if (outcome.status !== 'done') throw new Error(outcome.refusal.detail);
    },
    fireDue: async (approvalId) => {
      const position = await fireDue(commands, 'default', parseApprovalId(approvalId)?.callId ?? '');
      if (position === null) throw new Error('nothing is due');
    },
    askAgain: async (approvalId) => {
      const callId = parseApprovalId(approvalId)?.callId ?? '';
      const outcome = await requestApproval(commands, agent, callId, {}, ids.uuid());
      if (outcome.status !== 'done') throw new Error(outcome.refusal.detail);
      return approvalId.replace(/\d+$/, (round) => String(Number(round) + 1));
    },
    notify: async ({ group = 'notifier', ...options }) => {
      const notifier = createNotifier({ store, readModel, people: () => [], clock, ids, log, ...options });
      const app = await createNotifierApp({ notifier, bus, topic: topicNames().events, log, group });
      notifier.start();
      await app.listen();
      const one: Running = {
        notifier,
        stop: async () => {
          if (!running.delete(one)) return;
          await app.close();
        },
      };
      running.add(one);
      return one;
    },
    deliveries: async () =>
      readable(await store.readAll(0, 100_000)).filter(isDelivery) as unknown as readonly DeliveryEvent[],
    close: async () => {
      await Promise.all([...running].map((one) => one.stop()));
      await bus.close();
      await projection.stop();
      readModel.close();
      await store.close();
      if (given === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

function isDelivery({ type }: RecordedEvent): boolean {
  return (deliveryEventTypes as readonly string[]).includes(type);
}
