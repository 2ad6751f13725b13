// `npm run bench:cluster`: every role as a process on a real Kafka broker, with the raw limits in the same run.
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { checkCounts } from '../gate.ts';
import { table } from '../report.ts';
import { startEngines, storeClients } from './engines.ts';
import { measureHops } from './hops.ts';
import type { Hops } from './hops.ts';
import { countsToGate, describeRun, hopRows, loadRows, splitRows } from './tables.ts';
import { runCycles, startCluster } from './whole.ts';
import type { Cycles } from './whole.ts';

const { values: options } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    gate: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    client: { type: 'string', default: 'esdb' },
    only: { type: 'string', default: 'all' },
    out: { type: 'string', default: join(import.meta.dirname, '..', '..', '.cache', 'bench-cluster.json') },
    help: { type: 'boolean', default: false },
  },
});

if (options.help) {
  console.log(`npm run bench:cluster [-- --smoke] [-- --gate] [-- --json] [-- --only hops|whole] [-- --client esdb|kurrentdb] [-- --out FILE]

Every role as a process on a real Kafka broker (KAFKA_BROKERS, else Docker, else Java 17 and Maven) and on
EVENTSTOREDB_URL, else on the test server of this repository, whose own speed then limits most figures.
  hops   each hop alone, in turn with its raw limit: kafkajs, pipelined appends, the raw client's subscription
  whole  full cycles with 1, 64 and 512 in flight: asked over Kafka, approved over HTTP, executed by the resolver
Prints tables, or with --json every figure, and writes every figure to FILE (default .cache/bench-cluster.json).
With --client kurrentdb the roles use Kurrent's client; raw limits are measured with @eventstore/db-client as ever.
--smoke takes about half a minute. With --gate it fails when a count that noise does not move is over its limit: appends,
reads and tool calls per cycle, commits of offsets per second. Times are never gated.`);
  process.exit(0);
}

const progress = (what: string): void => {
  process.stderr.write(`bench: ${what} …\n`);
};
const scale = options.smoke
  ? { rounds: 1, seconds: 1, requests: 300, rawMessages: 5_000, memoryEvents: 5_000 }
  : { rounds: 3, seconds: 3, requests: 3_000, rawMessages: 50_000, memoryEvents: 50_000 };
const loads = options.smoke ? [1, 16] : [1, 64, 512];
const seconds = options.smoke ? 2 : 8;

progress('starting the broker and the event store');
const client = storeClients.find((one) => one === options.client);
if (client === undefined) throw new RangeError('--client must be esdb or kurrentdb');
const engines = await startEngines(client);
const machine = await describeRun(engines);
let hops: Hops | undefined;
const cycles = new Map<number, Cycles>();
try {
  if (options.only !== 'whole') hops = await measureHops(engines, scale, progress);
  if (options.only !== 'hops') {
    progress('starting one process of every role');
    const cluster = await startCluster(engines);
    progress('warming up');
    // Seven processes get few requests each until their code is compiled.
    await runCycles(engines, cluster, options.smoke ? 4 : 64, options.smoke ? 1 : 45);
    for (const inFlight of loads) {
      progress(`full cycles, ${String(inFlight)} in flight`);
      cycles.set(inFlight, await runCycles(engines, cluster, inFlight, seconds, inFlight === 1));
    }
    await cluster.stop();
  }
} finally {
  await engines.stop();
}

const results = {
  ...machine,
  measuredAt: new Date().toISOString(),
  smoke: options.smoke,
  hops,
  cycles: Object.fromEntries(cycles),
};
if (options.json) console.log(JSON.stringify(results, null, 2));
else {
  for (const [name, value] of Object.entries(machine)) console.log(`${name}: ${value}`);
  if (hops !== undefined)
    console.log(`\n${table(['each hop alone', 'measured', 'raw', 'ratio', 'wanted'], hopRows(hops))}`);
  if (cycles.size > 0) {
    const header = [...cycles.keys()].map((inFlight) => `${String(inFlight)} in flight`);
    console.log(`\n${table(['the whole cluster', ...header, 'wanted'], loadRows(cycles))}`);
    console.log(`\n${table(['latency, p50 / p99 ms', ...header, 'wanted'], splitRows(cycles))}`);
  }
}
mkdirSync(dirname(options.out), { recursive: true });
writeFileSync(options.out, `${JSON.stringify(results, null, 2)}\n`);
process.stderr.write(`bench: every figure is in ${options.out}\n`);
if (options.gate) checkCounts(countsToGate(hops, cycles), options);
process.exit();
