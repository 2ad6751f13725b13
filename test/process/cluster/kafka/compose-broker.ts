import { endNodes, startNodes } from '../../../kafka-broker/cluster.ts';
import { missingForJars } from '../../../kafka-broker/jars.ts';
import type { MoreSettings } from '../../../kafka-broker/node-process.ts';
import type { NodeAddress } from '../../../kafka-broker/server-properties.ts';
import { freePort } from '../../../ports.js';
import { onCleanup } from '../../harness/cleanup.js';
import type { ComposeService, Settings } from '../compose-file.js';

/** A real broker with the settings of the compose file. */
export interface ComposeBroker {
  /** The roles' address: `kafka:9092` in the file. */
  readonly inside: string;
  /** The address for workers on this machine: the published port. */
  readonly outside: string;
}

/** For the image, not for the broker. */
const ofImage = ['KAFKA_OPTS', 'KAFKA_HEAP_OPTS', 'KAFKA_LOG_DIRS'];

/**
 * Starts Apache Kafka with the environment of the service, interpreted like the image does.
 * @param onThisMachine maps a path in the container to one of this machine.
 */
export async function startComposeBroker(
  { environment }: ComposeService,
  onThisMachine: (path: string) => string,
): Promise<ComposeBroker> {
  const missing = await missingForJars();
  if (missing !== undefined)
    throw new Error(`the broker of the compose file needs Java 17 or newer and Maven: ${missing}`);
  const outsidePort = await freePort();
  const { nodes, folder } = await startNodes(1, (node) => ({
    settings: settingsOf(environment, node, outsidePort),
    scramUsers: [],
    javaFlags: (environment['KAFKA_OPTS'] ?? '').split(' ').map((flag) => flag.replace(/(?<==)\/.*/, onThisMachine)),
  }));
  onCleanup(() => endNodes(nodes, folder, 'SIGKILL'));
  return { inside: nodes[0]?.address ?? '', outside: `127.0.0.1:${String(outsidePort)}` };
}

/** `KAFKA_LOG_DIRS` is `log.dirs`; hosts and ports become those of this machine. */
function settingsOf(environment: Settings, node: NodeAddress, outsidePort: number): MoreSettings['settings'] {
  const ports: Readonly<Record<string, number>> = { 9092: node.port, 9093: node.controllerPort, 9094: outsidePort };
  const names = Object.keys(environment).filter((name) => name.startsWith('KAFKA_') && !ofImage.includes(name));
  return Object.fromEntries(
    names.map((name) => [
      name.slice('KAFKA_'.length).toLowerCase().replaceAll('_', '.'),
      (environment[name] ?? '').replaceAll(
        /(?:kafka|localhost|127\.0\.0\.1)?:(909[234])\b/g,
        (_, port: string) => `127.0.0.1:${String(ports[port])}`,
      ),
    ]),
  );
}
