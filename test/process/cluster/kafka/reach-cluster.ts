import { randomBytes } from 'node:crypto';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import type { Reach } from '../../channels/reach.js';
import { onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import { startServer } from '../../harness/server.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { openStoreServer, readinessOf, writeTokens } from '../roles.js';
import { createTopics } from './create-topics.js';

/** A process of a role, and the port that it listens on. */
export interface RoleOnPort {
  readonly server: Server;
  readonly port: number;
}

/** The dependencies of a cluster's processes with channels; they end with the test. */
export interface ReachCluster {
  /** The folder of the event store's log. */
  readonly storeFolder: string;
  readonly eventStoreUrl: string;
  readonly tokensFile: string;
  readonly brokers: readonly string[];
  readonly topicPrefix: string;
  readonly start: (role: string, more?: Readonly<Record<string, string>>) => Promise<RoleOnPort>;
  readonly untilReady: (server: Server) => Promise<void>;
}

/** Opens an event store, a broker and the topics, for roles that have the channels of a reach. */
export async function openReachCluster(
  { env }: Pick<Reach, 'env'>,
  {
    partitions = 3,
    more = {},
  }: { readonly partitions?: number; readonly more?: Readonly<Record<string, string>> } = {},
): Promise<ReachCluster> {
  const broker = await startKafkaBroker();
  onCleanup(() => broker.stop());
  const storeFolder = temporaryFolder();
  const store = await openStoreServer(undefined, storeFolder);
  const topicPrefix = `reach-${randomBytes(4).toString('hex')}`;
  const tokensFile = writeTokens();
  const settings = {
    ...env,
    COUNTERSIGN_EVENTSTORE_URL: store.url,
    COUNTERSIGN_KAFKA_BROKERS: broker.brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
    COUNTERSIGN_TOKENS_FILE: tokensFile,
    COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: '6000',
    ...more,
  };
  const topics = { COUNTERSIGN_TOPIC_PARTITIONS: String(partitions), COUNTERSIGN_TOPIC_REPLICATION: '1' };
  await createTopics({ ...settings, ...topics });
  return {
    storeFolder,
    eventStoreUrl: store.url,
    tokensFile,
    brokers: broker.brokers,
    topicPrefix,
    start: async (role, own = {}) => {
      const port = await freePort();
      const given = { ...settings, ...own };
      return { server: startServer({ folder: temporaryFolder(), port, args: ['start', role], env: given }), port };
    },
    untilReady: async (server) => {
      await eventually('a process to be ready', async () =>
        (await readinessOf(server))?.status === 200 ? true : undefined,
      );
    },
  };
}
