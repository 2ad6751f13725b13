import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { closedLoop, percentile } from '../closed-loop.ts';
import { callsBetween } from './engines.ts';
import type { Engines, StoreCalls } from './engines.ts';
import { environmentOf, openBus } from './hops.ts';
import type { Environment } from './hops.ts';
import { openLoad, openToolServer } from './load.ts';
import type { Load, Marks, ToolServer } from './load.ts';
import { rawKafka } from './raw-limits.ts';
import { toolName } from './requests.ts';
import { createTopics, startRole, startUsage } from './role-processes.ts';
import type { RoleProcess } from './role-processes.ts';

const token = 'bench-token';
const roles = ['gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier'] as const;

/** The whole cluster, one process per role, with its load. */
export interface Cluster {
  readonly load: Load;
  readonly processes: readonly RoleProcess[];
  readonly stop: () => Promise<void>;
}

/** Starts every role as a process, with one service tool. */
export async function startCluster(engines: Engines): Promise<Cluster> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-'));
  const tool = await openToolServer();
  const env = { ...environmentOf(engines, 'whole'), ...writeFiles(folder, tool) };
  await createTopics(env);
  const processes = await Promise.all(roles.map((role) => startRole(role, ofRole(role, env))));
  const kafka = openBus(engines, env);
  const gatewayPort = processes[0]?.port ?? 0;
  const load = await openLoad({ gatewayPort, token, kafka, tool });
  return {
    load,
    processes,
    stop: async () => {
      load.close();
      tool.close();
      await kafka.close();
      await Promise.all(processes.map((each) => each.stop()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function writeFiles(folder: string, tool: ToolServer): Environment {
  const [toolsFile, tokensFile] = [join(folder, 'tools.json'), join(folder, 'tokens.json')];
  const http = { url: tool.url, allowPrivateNetwork: true };
  writeFileSync(toolsFile, JSON.stringify({ tools: [{ name: toolName, http }] }));
  const entry = { token, principal: 'bench', roles: ['approver', 'auditor', 'admin'] };
  writeFileSync(tokensFile, JSON.stringify([entry]), { mode: 0o600 });
  return { COUNTERSIGN_TOOLS: toolsFile, COUNTERSIGN_TOKENS_FILE: tokensFile };
}

/** Every variable is allowed for every role except these: an unknown one is only reported. */
function ofRole(role: string, env: Environment): Environment {
  const { COUNTERSIGN_TOOLS: tools = '', COUNTERSIGN_TOKENS_FILE: tokens = '', ...rest } = env;
  return {
    ...rest,
    ...(role === 'gateway' ? { COUNTERSIGN_TOKENS_FILE: tokens } : {}),
    ...(['gateway', 'ledger', 'resolver'].includes(role) ? { COUNTERSIGN_TOOLS: tools } : {}),
  };
}

/** Two figures of the same period. */
export interface Split {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const spans = {
  'request → broker has it': ['sentAt', 'ackedAt'],
  'broker has it → pending visible': ['ackedAt', 'pendingAt'],
  'request → pending visible': ['sentAt', 'pendingAt'],
  'approve → answered (durable)': ['approvedAt', 'answeredAt'],
  'approve → on the events topic': ['approvedAt', 'onTopicAt'],
  'on the events topic → tool started': ['onTopicAt', 'toolAt'],
  'approve → tool started': ['approvedAt', 'toolAt'],
  'tool started → outcome visible': ['toolAt', 'settledAt'],
  cycle: ['sentAt', 'settledAt'],
} as const satisfies Record<string, readonly [keyof Marks, keyof Marks]>;

export type SpanName = keyof typeof spans;

/** The cluster's results at one load. */
export interface Cycles {
  readonly cyclesPerSecond: number;
  readonly cycles: number;
  readonly splits: Readonly<Record<SpanName, Split>>;
  readonly cpuMsPerCycle: Readonly<Record<string, number>>;
  readonly callsPerCycle: StoreCalls;
  /** More than one per cycle would be one execution too many. */
  readonly toolCallsPerCycle: number;
  readonly eventsPerPublish: number;
  readonly commitsPerSecond: number;
}

/** One round of cycles. `listening` also records when approvals arrive on the events topic. */
export async function runCycles(
  engines: Engines,
  { load, processes }: Cluster,
  inFlight: number,
  seconds: number,
  listening = false,
): Promise<Cycles> {
  const stopListening = listening ? await load.listenToTopic() : undefined;
  const connections = await Promise.all(Array.from({ length: inFlight }, () => load.connect()));
  const round = randomUUID().slice(0, 8);
  const all: Marks[] = [];
  const relay = processes.find(({ role }) => role === 'relay');
  const counts = await countsOf(engines, relay, load);
  const pids = Object.fromEntries(processes.map(({ role, pid }) => [role, pid] as const));
  const used = startUsage({ ...pids, store: engines.storePid, broker: engines.brokerPid, load: process.pid });
  const measured = await closedLoop(inFlight, seconds, async (slot, n) => {
    const connection = connections[slot];
    if (connection !== undefined) all.push(await load.cycle(connection, `${round}-${String(n)}`));
  });
  const cpu = used();
  const since = await countsOf(engines, relay, load);
  for (const connection of connections) connection.close();
  await stopListening?.();
  const { cycles } = measured;
  const calls = callsBetween(counts.calls, since.calls);
  return {
    cyclesPerSecond: cycles / measured.seconds,
    cycles,
    splits: splitsOf(all),
    cpuMsPerCycle: Object.fromEntries(Object.entries(cpu).map(([name, ms]) => [name, ms / cycles])),
    callsPerCycle: {
      appends: calls.appends / cycles,
      streamReads: calls.streamReads / cycles,
      logReads: calls.logReads / cycles,
    },
    toolCallsPerCycle: (since.toolCalls - counts.toolCalls) / cycles,
    eventsPerPublish: (since.published - counts.published) / (since.publishes - counts.publishes),
    commitsPerSecond: (since.commits - counts.commits) / measured.seconds,
  };
}

async function countsOf(engines: Engines, relay: RoleProcess | undefined, load: Load) {
  return {
    calls: await engines.storeCalls(),
    published: (await relay?.metric('countersign_relay_published_events_total')) ?? NaN,
    publishes: (await relay?.metric('countersign_relay_publish_seconds_count')) ?? NaN,
    toolCalls: load.toolCalls(),
    commits: await offsetRecords(engines),
  };
}

/** The bytes that the brokers wrote to the topic of committed offsets. */
async function offsetRecords(engines: Engines): Promise<number> {
  const admin = rawKafka(engines.brokers).admin();
  await admin.connect();
  const ends = await admin.fetchTopicOffsets('__consumer_offsets');
  await admin.disconnect();
  return ends.reduce((sum, { high }) => sum + Number(high), 0);
}

function splitsOf(all: readonly Marks[]): Record<SpanName, Split> {
  const entries = Object.entries(spans).map(([name, [from, to]]) => {
    const sorted = Float64Array.from(all.map((marks) => marks[to] - marks[from]).filter((ms) => !Number.isNaN(ms)));
    sorted.sort();
    return [name, { p50Ms: percentile(sorted, 50), p99Ms: percentile(sorted, 99) }] as const;
  });
  return Object.fromEntries(entries) as Record<SpanName, Split>;
}
