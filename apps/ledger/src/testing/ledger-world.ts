import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createWriteSide, findCall } from '@countersign/commands';
import type { Actor, CommandPorts, OpenCall, OpenCallsOfRun } from '@countersign/commands';
import { deriveCallId } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import { EventStoreUnavailableError, openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { PoisonMessageError } from '@countersign/message-bus';
import type { Message } from '@countersign/message-bus';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { readable } from '@countersign/event-store/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { createLedger, isTransientFailure } from '../ledger.js';
import type { Ledger, LedgerOptions } from '../ledger.js';
import { createLedgerMetrics } from '../metrics.js';

/** A ledger with the real store and write side in a temporary folder, and a topic that a test writes to. */
export interface LedgerWorld {
  readonly ledger: Ledger;
  readonly commands: CommandPorts;
  readonly store: EventStore;
  readonly log: CollectingLog;
  /** The next `count` appends fail as if the store were down. */
  readonly failAppends: (count: number) => void;
  /** Delivers a message until it is handled or parked, as a bus does. Returns the result. */
  readonly deliver: (message: Message) => Promise<Delivered>;
  readonly events: () => Promise<readonly RecordedEvent[]>;
  readonly types: () => Promise<readonly string[]>;
  readonly refusals: () => Promise<readonly unknown[]>;
  readonly state: (toolCallId: string, runId?: string) => Promise<string | null>;
  readonly figures: () => Promise<string>;
  readonly close: () => Promise<void>;
}

export interface Delivered {
  readonly outcome: 'handled' | 'parked';
  readonly code?: string;
  readonly attempts: number;
  readonly transient: number;
}

export const approver: Actor = {
  tenant: 'default',
  principal: 'ann',
  roles: new Set(['approver']),
  groups: [],
  agentIds: [],
  via: 'api',
  assurance: 'medium',
};

let offset = 0;

/** The key that a producer gives to such data. */
function runOf(text: string): string {
  return /"runId":"([^"]+)"/.exec(text)?.[1] ?? 'run-1';
}

/** A request as a message of the topic. Its key is its run. */
export function requestMessage(
  type: string,
  data: unknown,
  headers: Readonly<Record<string, string | undefined>> = {},
): Message {
  const value = Buffer.isBuffer(data) ? data : Buffer.from(typeof data === 'string' ? data : JSON.stringify(data));
  offset += 1;
  const all: Readonly<Record<string, string | undefined>> = {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: `request-${String(offset)}`,
    ce_source: '/agents/test',
    ce_type: type,
    ...headers,
  };
  const given = Object.entries(all).flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
  return {
    topic: 'requests',
    partition: 0,
    offset: String(offset),
    key: runOf(value.toString('latin1', 0, 1000)),
    value,
    headers: Object.fromEntries(given),
  };
}

export function callOf(toolCallId: string, more: object = {}): object {
  return { toolCallId, toolName: 'delete_file', arguments: { path: `/${toolCallId}` }, needsApproval: true, ...more };
}

const attemptsMax = 5;

export async function openLedgerWorld(options: Partial<LedgerOptions> = {}): Promise<LedgerWorld> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-ledger-'));
  const world = { clock: options.clock ?? systemClock, ids: createSystemIds(), log: createCollectingLog() };
  const real = await openEmbeddedEventStore({ folder, ...world });
  let failing = 0;
  const store: EventStore = {
    ...real,
    append: async (stream, revision, events) => {
      if (failing > 0) {
        failing -= 1;
        throw new EventStoreUnavailableError('down');
      }
      return real.append(stream, revision, events);
    },
  };
  const commands = createWriteSide({
    store,
    tools: { find: () => undefined },
    writeOnly: true,
    ...world,
  });
  const metrics = createLedgerMetrics();
  const events = async (): Promise<readonly RecordedEvent[]> => readable(await store.readAll(0, 10_000));
  const stateOf = async (callId: string, tenant = 'default'): Promise<string | null> => {
    const call = await findCall(commands, tenant, callId);
    return call === undefined ? null : callState(call);
  };
  const ledger = createLedger({
    commands,
    store,
    keys: null,
    unsigned: { mode: 'allow', tenant: 'default', principal: 'kafka' },
    openCalls: { of: (tenant, runId) => openCallsIn(events, stateOf, tenant, runId) },
    metrics,
    ...world,
    ...options,
  });
  return {
    ledger,
    commands,
    store,
    log: world.log,
    failAppends: (count) => void (failing = count),
    deliver: (message) => deliver(ledger, message),
    events,
    types: async () => (await events()).map(({ type }) => type),
    refusals: async () => (await events()).filter(({ type }) => type === 'RequestRefused').map(({ data }) => data),
    state: (toolCallId, runId = 'run-1') => stateOf(deriveCallId('default', runId, toolCallId)),
    figures: () => metrics.registry.metrics(),
    close: async () => {
      await real.close();
      rmSync(folder, { recursive: true });
    },
  };
}

async function deliver(ledger: Ledger, message: Message): Promise<Delivered> {
  let transient = 0;
  for (let attempt = 1; ;) {
    try {
      await ledger.handle(message, { attempt });
      return { outcome: 'handled', attempts: attempt, transient };
    } catch (error) {
      if (isTransientFailure(error)) {
        transient += 1;
        continue;
      }
      const code = error instanceof PoisonMessageError ? error.code : 'handler-failed';
      if (code !== 'handler-failed' || attempt === attemptsMax) {
        return { outcome: 'parked', code, attempts: attempt, transient };
      }
      attempt += 1;
    }
  }
}

/** The result of the read model, computed from the log. */
async function openCallsIn(
  events: () => Promise<readonly RecordedEvent[]>,
  stateOf: (callId: string, tenant: string) => Promise<string | null>,
  tenant: string,
  runId: string,
): Promise<OpenCallsOfRun> {
  const open = ['awaiting_approval', 'allowed', 'approved', 'executing'];
  const calls: OpenCall[] = [];
  const requesters: string[] = [];
  for (const { type, metadata, data } of await events()) {
    if (type !== 'ToolCallRequested' || metadata.tenant !== tenant || metadata.runId !== runId) continue;
    const { requestedBy } = data as { requestedBy: string };
    requesters.push(requestedBy);
    const callId = metadata.callId ?? '';
    if (open.includes((await stateOf(callId, tenant)) ?? '')) calls.push({ callId, requestedBy });
  }
  return { calls, requesters, grants: [] };
}
