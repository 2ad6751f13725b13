import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createArgumentSchemas, createCommandHandler, createKeyedQueue, createKnownStops } from '@countersign/commands';
import type { Actor, CommandPorts, ServiceTools } from '@countersign/commands';
import { batchDecider, grantDecider, passkeyDecider, toolCallDecider } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createPolicies } from '@countersign/policy';
import type { Policies } from '@countersign/policy';
import { openReadModel } from '@countersign/read-model';
import type { ReadModel } from '@countersign/read-model';
import { createSystemIds, systemClock } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { createHistory, loadConditions } from '@countersign/shell';
import { createGatewayApp } from '../http/gateway-app.js';
import type { GatewayApp } from '../http/gateway-app.js';
import type { InboxOptions } from '../inbox/add-inbox.js';
import { createGatewayMetrics } from '../metrics.js';
import type { GatewayPorts } from '../ports.js';
import { createIdempotencyStore } from '../sqlite/idempotency-store.js';
import { createTokens } from '../tokens.js';
import type { TokenEntry } from '../tokens.js';

/** One token per role, some more people, and a second tenant with the same. */
export const tokenEntries: readonly TokenEntry[] = [
  { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { token: 'agent2-token', principal: 'agent-2', roles: ['agent'], agentIds: ['agent-2', 'billing-*'] },
  { token: 'ann-token', principal: 'ann', roles: ['approver'], groups: ['ops'] },
  { token: 'bob-token', principal: 'bob', roles: ['approver'] },
  { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
  { token: 'worker2-token', principal: 'worker-2', roles: ['resolver'] },
  { token: 'stopper-token', principal: 'stopper', roles: ['stopper'] },
  { token: 'tool-token', principal: 'tool', roles: ['tool'] },
  { token: 'auditor-token', principal: 'auditor', roles: ['auditor'] },
  { token: 'admin-token', principal: 'admin', roles: ['admin'] },
  { token: 'me-token', principal: 'me', roles: ['approver', 'auditor', 'admin'] },
  {
    token: 'desk-token',
    principal: 'support-desk',
    roles: ['front-end'],
    people: { groups: ['support', 'ops'], maxAssurance: 'medium' },
  },
  { token: 'nobody-token', principal: 'nobody', roles: [] },
  {
    token: 'other-token',
    principal: 'agent',
    roles: ['agent', 'approver', 'resolver', 'auditor', 'admin'],
    tenant: 'other',
  },
];

/** A gateway on a real port, with the real store, read model and write side in a temporary folder. */
export interface World {
  readonly url: string;
  readonly app: GatewayApp;
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly commands: CommandPorts;
  readonly log: CollectingLog;
  readonly ports: GatewayPorts;
  readonly folder: string;
  readonly close: () => Promise<void>;
}

/** The parts that a spec can replace. */
export interface WorldOptions {
  readonly policies?: Policies;
  readonly tools?: ServiceTools;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly folder?: string;
  /** How long the read model takes to apply an event. Default: no time. */
  readonly projectionMs?: number;
  /** A store over the embedded one. */
  readonly over?: (store: EventStore) => EventStore;
  readonly change?: (ports: GatewayPorts) => GatewayPorts;
  readonly inbox?: InboxOptions;
  readonly corsOrigins?: readonly string[];
}

/** Opens it; the folder is removed on close, unless it was given. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'countersign-gateway-'));
  const clock = options.clock ?? systemClock;
  const ids = options.ids ?? createSystemIds();
  const log = createCollectingLog();
  const metrics = createGatewayMetrics();
  const embedded = await openEmbeddedEventStore({ folder, clock, log, metrics: { onCommit: metrics.storeCommitted } });
  const store = options.over?.(embedded) ?? embedded;
  const readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log });
  const projection = store.subscribe(readModel.checkpoint(), {
    onEvents: async (events) => {
      if (options.projectionMs !== undefined) await delay(options.projectionMs);
      readModel.apply(events);
    },
    onError: (error) => log.error({ error }, 'the projection failed'),
  });
  const commands: CommandPorts = {
    handler: createCommandHandler({ store, fold: toolCallDecider, clock, ids, cacheSize: 100 }),
    batches: createCommandHandler({ store, fold: batchDecider, clock, ids, cacheSize: 100 }),
    changesOfSteps: createKeyedQueue(),
    passkeys: {
      handler: createCommandHandler({ store, fold: passkeyDecider, clock, ids, cacheSize: 16 }),
      log: store,
      signCounts: new Map(),
    },
    grants: {
      index: readModel.grants,
      conditions: loadConditions,
      handler: createCommandHandler({ store, fold: grantDecider, clock, ids, cacheSize: 100 }),
    },
    policies: options.policies ?? createPolicies([]),
    stops: createKnownStops({ store, clock, ids }),
    tools: options.tools ?? { find: () => undefined },
    schemas: createArgumentSchemas(),
    asking: { history: createHistory(readModel), inTurn: createKeyedQueue() },
    clock,
    ids,
    log,
  };
  const idempotency = createIdempotencyStore(join(folder, 'idempotency.db'));
  const given = {
    commands,
    readModel,
    store,
    tokens: createTokens(tokenEntries),
    idempotency,
    metrics,
    clock,
    ids,
    log,
  };
  const ports = options.change?.(given) ?? given;
  const { inbox = {}, corsOrigins = [] } = options;
  const app = await createGatewayApp(ports, { host: '127.0.0.1', port: 0, inbox, corsOrigins });
  const url = await app.listen();
  const close = async (): Promise<void> => {
    await app.close();
    await projection.stop();
    readModel.close();
    await store.close();
    idempotency.close();
    if (options.folder === undefined) rmSync(folder, { recursive: true, force: true });
  };
  return { url, app, store, readModel, commands, log, ports, folder, close };
}

/** The actor of a token of `tokenEntries`. */
export function actorOf(token: string): Actor {
  const actor = createTokens(tokenEntries).actorOf(token, 'api');
  if (actor === undefined) throw new Error(`no entry has the token ${token}`);
  return actor;
}
