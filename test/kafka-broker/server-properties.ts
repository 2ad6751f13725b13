import { randomBytes } from 'node:crypto';

/** One node of the cluster: broker and controller in one. */
export interface NodeAddress {
  readonly id: number;
  readonly port: number;
  readonly controllerPort: number;
}

const host = '127.0.0.1';

/** The node's address for clients. */
export const addressOf = (node: NodeAddress): string => `${host}:${node.port}`;

/** The file `server.properties` of one node. Topics are not created automatically: the product must create them. */
export function serverProperties(
  node: NodeAddress,
  nodes: readonly NodeAddress[],
  folder: string,
  more: Readonly<Record<string, string>> = {},
): string {
  const copies = Math.min(nodes.length, 3);
  const inSync = Math.max(1, copies - 1);
  const settings: Readonly<Record<string, string | number | boolean>> = {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    'controller.quorum.voters': nodes.map(({ id, controllerPort }) => `${id}@${host}:${controllerPort}`).join(','),
    listeners: `PLAINTEXT://${addressOf(node)},CONTROLLER://${host}:${node.controllerPort}`,
    'advertised.listeners': `PLAINTEXT://${addressOf(node)}`,
    'controller.listener.names': 'CONTROLLER',
    'log.dirs': folder,
    'auto.create.topics.enable': false,
    'default.replication.factor': copies,
    'min.insync.replicas': inSync,
    'offsets.topic.replication.factor': copies,
    'transaction.state.log.replication.factor': copies,
    'transaction.state.log.min.isr': inSync,
    'share.coordinator.state.topic.replication.factor': copies,
    'share.coordinator.state.topic.min.isr': inSync,
    // Fewer partitions and no pause before the first member: a group's first join is what most tests wait for.
    'offsets.topic.num.partitions': 3,
    'transaction.state.log.num.partitions': 3,
    'group.initial.rebalance.delay.ms': 0,
    // Tests of a dying member must not wait for the minimum of a production cluster.
    'group.min.session.timeout.ms': 1000,
    // A killed node may rejoin only when its former session is over.
    'broker.session.timeout.ms': 3000,
    'broker.heartbeat.interval.ms': 500,
    'controlled.shutdown.enable': nodes.length > 1,
    'num.network.threads': 2,
    'num.io.threads': 4,
    'num.recovery.threads.per.data.dir': 1,
    'log.cleaner.enable': false,
    // Otherwise an idle node writes a record to its log of metadata twice a second.
    'metadata.max.idle.interval.ms': 0,
    ...more,
  };
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}

/** The file `meta.properties` of a formatted storage: whose it is. */
export function metaProperties({ id }: NodeAddress, clusterId: string): string {
  return `version=1\ncluster.id=${clusterId}\nnode.id=${id}\ndirectory.id=${newKafkaId()}\n`;
}

/** An id as Kafka makes them. One that begins with a hyphen would be an option of its formatting command. */
export function newKafkaId(): string {
  return `A${randomBytes(16).toString('base64url').slice(1)}`;
}
