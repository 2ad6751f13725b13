import { randomBytes } from 'node:crypto';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import type { KafkaBroker } from '../../../kafka-broker/handles.ts';
import type { Faults } from '../../../eventstoredb-server/faults.ts';
import type { ServerProcess } from '../../../eventstoredb-server/server-process.ts';
import { onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import type { Http } from '../../harness/http.js';
import { createRandom, seedOfRun } from '../../harness/random.js';
import type { Random } from '../../harness/random.js';
import type { Tokens } from '../../harness/tokens.js';
import { createJournal } from '../../traffic/journal.js';
import type { Journal } from '../../traffic/journal.js';
import { createTopics } from '../kafka/create-topics.js';
import { openStoreServer, storeUrl, writeTokens } from '../roles.js';
import { openCards } from './cards.js';
import type { Cards } from './cards.js';
import { createGatewaysHttp } from './gateways-http.js';
import { openRequestsTopic } from './requests-topic.js';
import type { RequestsTopic } from './requests-topic.js';
import { supervise } from './supervised.js';
import type { Supervised } from './supervised.js';
import { serviceTools } from './service-tools.js';
import type { ServiceTools } from './service-tools.js';

/** Short, so that a crash is detected within a test; longer than a busy machine silences a live process. */
const sessionTimeoutMs = 6_000;
export const resolverLeaseMs = 5_000;

export const tokens: Tokens = { agent: 'agent-token', me: 'ann-token', worker: 'worker-token' };

/** The event store's server, which a test stops and breaks. */
export interface StoreServer {
  /** SIGKILL. */
  readonly kill: () => Promise<void>;
  /** Starts it again on its port and folder. */
  readonly start: () => Promise<void>;
  readonly setFaults: (faults: Faults) => Promise<void>;
  /** The folder of its log. */
  readonly folder: string;
  readonly url: string;
}

/** A whole cluster as processes of this machine, with its own broker and event store. */
export interface Installation {
  readonly broker: KafkaBroker;
  readonly store: StoreServer;
  readonly topics: { readonly requests: string; readonly events: string; readonly deadLetters: string };
  readonly requests: RequestsTopic;
  readonly tools: ServiceTools;
  /** The notifiers' messages, once there are some. */
  readonly cards: Cards;
  readonly journal: Journal;
  readonly random: Random;
  /** The calls that an earlier judgement has seen end. */
  readonly ended: Set<string>;
  /** A client of both gateways; the caller closes it. */
  readonly openHttp: () => Http;
  readonly processes: () => readonly Supervised[];
  readonly of: (role: string) => readonly Supervised[];
  /** Starts one more process of a role. */
  readonly add: (role: string) => Promise<Supervised>;
  readonly remove: (process: Supervised, signal: 'SIGTERM' | 'SIGKILL') => Promise<void>;
  readonly allReady: () => Promise<void>;
  /** Distinguishes the names of several traffic generators on one log. */
  readonly nextPrefix: () => string;
}

const composition = ['gateway', 'gateway', 'ledger', 'ledger', 'relay', 'relay', 'projector', 'resolver', 'resolver'];

/** Starts everything, including `more` roles, and waits until it is ready. `ownBroker`: one that the test may kill. */
export async function install({
  more = [],
  ownBroker = false,
}: { readonly more?: readonly string[]; readonly ownBroker?: boolean } = {}): Promise<Installation> {
  const broker = await startKafkaBroker({ own: ownBroker });
  onCleanup(() => broker.stop());
  const store = await openStore();
  const topicPrefix = `faults-${randomBytes(4).toString('hex')}`;
  const tools = await serviceTools(temporaryFolder());
  const cards = await openCards();
  const env = {
    ...cards.env,
    COUNTERSIGN_EVENTSTORE_URL: store.url,
    COUNTERSIGN_KAFKA_BROKERS: broker.brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    COUNTERSIGN_TOOLS: tools.toolsFile,
    COUNTERSIGN_REQUESTS_PRINCIPAL: 'agent',
    COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: String(sessionTimeoutMs),
    COUNTERSIGN_RESOLVER_LEASE_MS: String(resolverLeaseMs),
  };
  await createTopics({ ...env, COUNTERSIGN_TOPIC_PARTITIONS: '6', COUNTERSIGN_TOPIC_REPLICATION: '1' });
  const topics = {
    requests: `${topicPrefix}.requests.v1`,
    events: `${topicPrefix}.events.v1`,
    deadLetters: `${topicPrefix}.dead-letters.v1`,
  };
  let processes: readonly Supervised[] = [];
  const add = async (role: string): Promise<Supervised> => {
    const number = processes.filter((each) => each.role === role).length + 1;
    const process = await supervise({ role, name: `${role}-${String(number)}`, env });
    processes = [...processes, process];
    return process;
  };
  for (const role of [...composition, ...more]) await add(role);
  const of = (role: string): readonly Supervised[] => processes.filter((each) => each.role === role);
  const allReady = async (): Promise<void> => void (await Promise.all(processes.map(({ ready }) => ready())));
  await allReady();
  let prefixes = 0;
  return {
    ...{ broker, store, topics, tools, cards, of, add, allReady },
    requests: await openRequestsTopic(broker.brokers, topics.requests),
    journal: createJournal(),
    random: createRandom(seedOfRun()),
    ended: new Set(),
    openHttp: () => createGatewaysHttp(of('gateway').map(({ port }) => port)),
    processes: () => processes,
    remove: async (process, signal) => {
      await process.remove(signal);
      processes = processes.filter((each) => each !== process);
    },
    nextPrefix: () => {
      prefixes += 1;
      return `t${String(prefixes)}`;
    },
  };
}

async function openStore(): Promise<StoreServer> {
  const [port, folder] = [await freePort(), temporaryFolder()];
  let server: ServerProcess = await openStoreServer(port, folder);
  return {
    folder,
    url: storeUrl(port),
    kill: () => server.stop('SIGKILL'),
    start: async () => {
      server = await openStoreServer(port, folder);
    },
    setFaults: (faults) => server.setFaults(faults),
  };
}
