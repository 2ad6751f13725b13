import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findKafka, startKafkaBroker } from '../../test/kafka-broker/broker.ts';

/** The clients of the store, by the scheme that they serve. */
export const storeClients = ['esdb', 'kurrentdb'] as const;
export type StoreClient = (typeof storeClients)[number];

/** The two engines under everything, and how to look at them. A pid is undefined where it is not ours. */
export interface Engines {
  readonly brokers: readonly string[];
  readonly brokerPid: number | undefined;
  readonly brokerFrom: string;
  readonly storeUrl: string;
  /** The scheme whose client the roles use. */
  readonly client: StoreClient;
  readonly storePid: number | undefined;
  readonly storeFrom: string;
  /** Every call that the event store has served; undefined for a server that does not count. */
  readonly storeCalls: () => Promise<StoreCalls | undefined>;
  readonly stop: () => Promise<void>;
}

/** The calls of the event store, by kind. */
export interface StoreCalls {
  readonly appends: number;
  /** Reads of streams of calls. */
  readonly streamReads: number;
  readonly logReads: number;
}

/** Finds or starts the broker, and the event store: `EVENTSTOREDB_URL`, else the test server of this repository. */
export async function startEngines(client: StoreClient): Promise<Engines> {
  const { from } = await findKafka();
  const broker = await startKafkaBroker();
  const given = process.env['EVENTSTOREDB_URL'] ?? '';
  const store = given === '' ? await startStore() : foreignStore(given);
  return {
    brokers: broker.brokers,
    brokerPid: from === 'jars' ? pidOfBroker(broker.brokers[0] ?? '') : undefined,
    brokerFrom: from,
    client,
    ...store.engine,
    stop: async () => {
      await store.stop();
      await broker.stop();
    },
  };
}

type StoreEngine = Pick<Engines, 'storeUrl' | 'storePid' | 'storeFrom' | 'storeCalls'>;

function foreignStore(storeUrl: string): { engine: StoreEngine; stop: () => Promise<void> } {
  const engine = { storeUrl, storePid: undefined, storeFrom: 'EVENTSTOREDB_URL', storeCalls: async () => undefined };
  return { engine, stop: async () => undefined };
}

async function startStore(): Promise<{ engine: StoreEngine; stop: () => Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-store-'));
  const main = join(import.meta.dirname, '..', '..', 'test', 'eventstoredb-server', 'main.ts');
  const child = spawn(process.execPath, [main, '--port', '0', '--control', '0', '--data', folder], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = once(child, 'exit');
  // The server must not outlive this process in any case.
  process.once('exit', () => child.kill('SIGKILL'));
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  const { url, control } = JSON.parse(line.toString()) as { url: string; control: number };
  const engine = {
    storeUrl: url,
    storePid: child.pid,
    storeFrom: 'the test server of this repository: JavaScript, SQLite WAL with synchronous=FULL, one flush per append',
    storeCalls: async () => {
      const response = await fetch(`http://127.0.0.1:${String(control)}/calls`);
      return countCalls((await response.json()) as readonly string[]);
    },
  };
  return {
    engine,
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function countCalls(calls: readonly string[]): StoreCalls {
  let [appends, streamReads, logReads] = [0, 0, 0];
  for (const call of calls) {
    if (call === 'Streams/Append' || call === 'Streams/BatchAppend') appends += 1;
    else if (call === 'Streams/Read $all') logReads += 1;
    // Other streams, such as that of stops, are read by the second and not by the call.
    else if (call.startsWith('Streams/Read toolCall-') && !call.endsWith(' subscription')) streamReads += 1;
  }
  return { appends, streamReads, logReads };
}

/** The calls in between. */
export function callsBetween(before: StoreCalls | undefined, after: StoreCalls | undefined): StoreCalls {
  const of = (name: keyof StoreCalls): number => (after?.[name] ?? NaN) - (before?.[name] ?? NaN);
  return { appends: of('appends'), streamReads: of('streamReads'), logReads: of('logReads') };
}

/** The harness keeps its process to itself; its properties file names the port. */
function pidOfBroker(address: string): number | undefined {
  try {
    for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
      const command = readIfThere(`/proc/${pid}/cmdline`).split('\0');
      const properties = command[command.indexOf('kafka.Kafka') + 1] ?? '';
      if (!command.includes('kafka.Kafka')) continue;
      if (readIfThere(properties).includes(`PLAINTEXT://${address}`)) return Number(pid);
    }
  } catch {
    // A system without /proc: its CPU is then not in the table.
  }
  return undefined;
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}
