import { endNodes, startNodes } from './cluster.ts';
import { hasDocker, startInDocker } from './docker.ts';
import type { KafkaBroker, KafkaCluster } from './handles.ts';
import { missingForJars } from './jars.ts';
import type { NodeProcess } from './node-process.ts';

/** Where a broker is available, in the order of preference; otherwise undefined, with the reason. */
export type KafkaSource =
  | { readonly from: 'environment'; readonly brokers: readonly string[] }
  | { readonly from: 'docker' }
  | { readonly from: 'jars' }
  | { readonly from: 'nowhere'; readonly why: string };

/**
 * Finds a broker: `KAFKA_BROKERS`, otherwise Docker, otherwise Java 17 or newer and Maven. `own`: one that a test may
 * kill.
 */
export async function findKafka({ own = false } = {}): Promise<KafkaSource> {
  const given = process.env['KAFKA_BROKERS'] ?? '';
  if (given !== '' && !own) return { from: 'environment', brokers: given.split(',').map((each) => each.trim()) };
  if (await hasDocker()) return { from: 'docker' };
  const missing = await missingForJars();
  if (missing === undefined) return { from: 'jars' };
  const why = `no Kafka for the tests: KAFKA_BROKERS is not set, no Docker daemon answers, and ${missing}`;
  return { from: 'nowhere', why: `${why}. Install Java 17 or newer and Maven, start Docker, or set KAFKA_BROKERS.` };
}

/**
 * A broker for tests: the one of the whole run (KAFKA_BROKERS, which the Kafka suite sets once) or, with `own: true`, a
 * new one that may be killed and paused. The caller stops a new one; if the process dies first, the broker ends with
 * it.
 */
export async function startKafkaBroker(options: { readonly own?: boolean } = {}): Promise<KafkaBroker> {
  const source = await findKafka(options);
  switch (source.from) {
    case 'environment':
      return foreign(source.brokers);
    case 'docker':
      return startInDocker();
    case 'jars': {
      const { nodes, folder } = await startNodes(1);
      return brokerOf(nodes[0]!, () => endNodes(nodes, folder, 'SIGKILL'));
    }
    case 'nowhere':
      throw new Error(source.why);
  }
}

/**
 * Several nodes as processes of this machine, with three replicas of everything. Always new, and always from the jars.
 */
export async function startKafkaCluster(count = 3): Promise<KafkaCluster> {
  const missing = await missingForJars();
  if (missing !== undefined)
    throw new Error(`a cluster of Kafka for the tests needs Java 17 or newer and Maven: ${missing}`);
  const { nodes, folder } = await startNodes(count);
  const stop = (): Promise<void> => endNodes(nodes, folder, 'SIGKILL');
  return {
    brokers: nodes.map(({ address }) => address),
    nodes: nodes.map((node) => brokerOf(node, () => node.end('SIGTERM'))),
    stop,
  };
}

function brokerOf(node: NodeProcess, stop: () => Promise<void>): KafkaBroker {
  return {
    brokers: [node.address],
    stop,
    kill: () => node.end('SIGKILL'),
    restart: async () => {
      await node.end('SIGTERM');
      node.spawn();
      await node.listening();
    },
    pause: () => node.pause(),
    resume: async () => node.resume(),
  };
}

/** An existing broker, which a test uses and does not stop. */
function foreign(brokers: readonly string[]): KafkaBroker {
  const refuse = (): Promise<never> =>
    Promise.reject(new Error('this broker is not the test’s own: start one with { own: true }'));
  return { brokers, stop: async () => undefined, kill: refuse, restart: refuse, pause: refuse, resume: refuse };
}
