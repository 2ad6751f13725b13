import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { freePort } from '../ports.ts';
import { brokerJars } from './jars.ts';
import { NodeProcess } from './node-process.ts';
import type { MoreSettings } from './node-process.ts';
import { prepareOnce } from './prepared.ts';
import { newKafkaId } from './server-properties.ts';
import type { NodeAddress } from './server-properties.ts';

const logs = join(dirname(dirname(import.meta.dirname)), '.cache', 'kafka-logs');
const dayMs = 86_400_000;

/** Starts nodes of Apache Kafka as processes and waits until each responds. */
export async function startNodes(
  count: number,
  settingsOf?: (node: NodeAddress, folder: string) => MoreSettings,
): Promise<{ nodes: readonly NodeProcess[]; folder: string }> {
  const jars = await brokerJars();
  await prepareOnce(jars, async (prepare) => {
    const { nodes, folder } = await createNodes(jars, 1);
    try {
      await prepare(nodes[0]!, join(folder, 'node-1'));
    } finally {
      await endNodes(nodes, folder, 'SIGKILL');
    }
  });
  const { nodes, folder } = await createNodes(jars, count, settingsOf);
  try {
    await Promise.all(nodes.map((node) => node.format()));
    for (const node of nodes) node.spawn();
    await Promise.all(nodes.map((node) => node.listening()));
  } catch (error) {
    await endNodes(nodes, folder, 'SIGKILL');
    throw error;
  }
  return { nodes, folder };
}

async function createNodes(
  jars: string,
  count: number,
  settingsOf?: (node: NodeAddress, folder: string) => MoreSettings,
): Promise<{ nodes: readonly NodeProcess[]; folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-kafka-'));
  await forgetOldLogs();
  const addresses: NodeAddress[] = [];
  for (let id = 1; id <= count; id += 1) {
    addresses.push({ id, port: await freePort(), controllerPort: await freePort() });
  }
  const clusterId = newKafkaId();
  const nodes = addresses.map((node) => {
    const logFile = join(logs, `${basename(folder)}-${node.id}.log`);
    const more = settingsOf === undefined ? {} : { more: settingsOf(node, folder) };
    return new NodeProcess({ node, nodes: addresses, clusterId, jars, folder, logFile, ...more });
  });
  return { nodes, folder };
}

/** Ends them and removes their data. */
export async function endNodes(
  nodes: readonly NodeProcess[],
  folder: string,
  signal: 'SIGKILL' | 'SIGTERM',
): Promise<void> {
  await Promise.all(nodes.map((node) => node.end(signal)));
  await rm(folder, { recursive: true, force: true });
}

/** Broker logs are kept for a day, to investigate failures. */
async function forgetOldLogs(): Promise<void> {
  await mkdir(logs, { recursive: true });
  for (const name of await readdir(logs)) {
    const file = join(logs, name);
    if (existsSync(file) && Date.now() - (await stat(file)).mtimeMs > dayMs) await rm(file, { force: true });
  }
}
