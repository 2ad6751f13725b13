import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Count } from '../gate.ts';
import { describeMachine, figure } from '../report.ts';
import type { Engines } from './engines.ts';
import { middleOf } from './hops.ts';
import type { Hops } from './hops.ts';
import { rawKafka } from './raw-limits.ts';
import type { Cycles, SpanName } from './whole.ts';

/** The measured system, its machine, and its durability. */
export async function describeRun(engines: Engines): Promise<Readonly<Record<string, string>>> {
  const { machine = '', kernel = '', node = '' } = describeMachine();
  return {
    machine,
    kernel,
    node,
    broker: `Apache Kafka${versionOf(engines)} from ${engines.brokerFrom}, ${await describeBroker(engines.brokers)}, acks from all, 12 partitions`,
    'event store': engines.storeFrom,
    load: 'the load, the tool and what is called "from memory", "followed" and "replayed" run in the process of the bench; every role is a process of its own; all on this machine',
  };
}

/** Known for a broker that the harness started from its jars. */
function versionOf({ brokerFrom }: Engines): string {
  if (brokerFrom !== 'jars') return '';
  const pom = readFileSync(join(import.meta.dirname, '..', '..', 'test', 'kafka-broker', 'pom.xml'), 'utf8');
  const version =
    /<kafka\.version>([^<]+)</.exec(pom)?.[1] ?? /kafka_2\.13<\/artifactId>\s*<version>([^<]+)</.exec(pom)?.[1];
  return version === undefined ? '' : ` ${version}`;
}

async function describeBroker(brokers: readonly string[]): Promise<string> {
  const admin = rawKafka(brokers).admin();
  await admin.connect();
  const { brokers: nodes } = await admin.describeCluster();
  await admin.disconnect();
  return `${String(nodes.length)} node${nodes.length === 1 ? '' : 's'}`;
}

const beside = (name: string, measured: number, raw: number, wanted = ''): string[] => [
  name,
  figure(measured),
  figure(raw),
  figure(measured / raw),
  wanted,
];
const alone = (name: string, measured: number, wanted = ''): string[] => [name, figure(measured), '', '', wanted];

/** Each hop and its raw limit. */
export function hopRows(hops: Hops): string[][] {
  const appends = middleOf(hops.appends, ({ perSecond }) => perSecond);
  const relay = (pick: (one: Hops['relay'][number]) => number): number => middleOf(hops.relay, pick);
  const ledger = (pick: (one: Hops['ledger'][number]) => number): number => middleOf(hops.ledger, pick);
  return [
    ['kafkajs, batches of 1,000: produced/s', '', figure(hops.kafka.produced), '', ''],
    ['kafkajs, empty handler: consumed/s', '', figure(hops.kafka.consumed), '', ''],
    ['kafkajs, publish → handler alone, p50 ms', '', figure(hops.publishToHandlerMs), '', ''],
    ['one append alone, p50 ms', '', figure(hops.appendAlone.p50Ms), '', ''],
    beside(
      'ledger requests/s, beside pipelined appends/s',
      ledger(({ perSecond }) => perSecond),
      appends,
      '≥ 0.6',
    ),
    beside(
      'CPU ms per request, beside an append: ledger or client',
      ledger((one) => one.ledgerCpuMsPerRequest),
      middleOf(hops.appends, (one) => one.clientCpuMs),
    ),
    beside(
      'CPU ms per request, beside an append: the event store',
      ledger((one) => one.storeCpuMsPerRequest),
      middleOf(hops.appends, (one) => one.storeCpuMs),
    ),
    alone(
      'appends per request',
      ledger((one) => one.appendsPerRequest),
      '1',
    ),
    alone(
      'stream reads per request',
      ledger((one) => one.readsPerRequest),
    ),
    beside('log followed by the adapter, events/s, beside the raw client', hops.followed, hops.rawSubscription),
    beside('replayed into a read model, events/s, beside the raw client', hops.replayed, hops.rawSubscription),
    beside(
      'relay events/s from the store, beside the raw client',
      relay((one) => one.eventsPerSecond),
      hops.rawSubscription,
      '≥ 10,000',
    ),
    beside(
      'relay events/s from memory, beside kafkajs produced/s',
      hops.relayFromMemory,
      hops.kafka.produced,
      '≥ 10,000',
    ),
    alone('CPU ms per 1,000 events: the relay', relay((one) => one.cpuMsPerEvent) * 1000),
    alone('CPU ms per 1,000 events: the event store', relay((one) => one.storeCpuMsPerEvent) * 1000),
    alone(
      'events per publish',
      relay((one) => one.eventsPerPublish),
    ),
  ];
}

/** The whole cluster at each load. */
export function loadRows(cycles: ReadonlyMap<number, Cycles>): string[][] {
  const all = [...cycles.values()];
  const row = (name: string, pick: (one: Cycles) => number, wanted = ''): string[] => [
    name,
    ...all.map((one) => figure(pick(one))),
    wanted,
  ];
  const processes = Object.keys(all[0]?.cpuMsPerCycle ?? {});
  return [
    row('cycles/s', (one) => one.cyclesPerSecond),
    ...processes.map((name) => row(`CPU ms per cycle: ${name}`, (one) => one.cpuMsPerCycle[name] ?? NaN)),
    row('CPU ms per cycle: all', (one) => Object.values(one.cpuMsPerCycle).reduce((sum, ms) => sum + ms, 0)),
    row('appends per cycle', (one) => one.callsPerCycle.appends, '4'),
    row('stream reads per cycle', (one) => one.callsPerCycle.streamReads),
    row('log reads per cycle', (one) => one.callsPerCycle.logReads),
    row('tool calls per cycle', (one) => one.toolCallsPerCycle, '1'),
    row('events per publish', (one) => one.eventsPerPublish),
    row('commits of offsets per second', (one) => one.commitsPerSecond),
  ];
}

/** The parts of a cycle's time. */
export function splitRows(cycles: ReadonlyMap<number, Cycles>): string[][] {
  const all = [...cycles.values()];
  const names = Object.keys(all[0]?.splits ?? {}) as SpanName[];
  return names.map((name) => [
    name,
    ...all.map(({ splits }) => `${figure(splits[name].p50Ms)} / ${figure(splits[name].p99Ms)}`),
    name === 'approve → tool started' ? 'p50 ≤ 12 with 1 in flight' : '',
  ]);
}

/** Counts that do not depend on how fast the machine is. */
export function countsToGate(hops: Hops | undefined, cycles: ReadonlyMap<number, Cycles>): readonly Count[] {
  const counts: Count[] = [];
  for (const one of hops?.ledger ?? []) {
    counts.push({ name: 'appends per request', value: one.appendsPerRequest, most: 1.02, mostInSmoke: 1.2 });
    counts.push({ name: 'stream reads per request', value: one.readsPerRequest, most: 0.05, mostInSmoke: 0.2 });
  }
  for (const [inFlight, one] of cycles) {
    const at = `with ${String(inFlight)} in flight`;
    counts.push({ name: `appends per cycle ${at}`, value: one.callsPerCycle.appends, most: 4.1, mostInSmoke: 4.9 });
    counts.push({
      name: `stream reads per cycle ${at}`,
      value: one.callsPerCycle.streamReads,
      most: 1.4,
      mostInSmoke: 2.5,
    });
    counts.push({ name: `tool calls per cycle ${at}`, value: one.toolCallsPerCycle, most: 1.05, mostInSmoke: 1.2 });
    // 5 a second of each group and partition at most; and members join and leave.
    counts.push({ name: `commits of offsets per second ${at}`, value: one.commitsPerSecond, most: 300 });
  }
  return counts;
}
