import { randomInt } from 'node:crypto';
import type { KafkaBroker } from './handles.ts';
import { kafkaVersion } from './jars.ts';

/** Resolves to whether a Docker daemon responds. */
export async function hasDocker(): Promise<boolean> {
  try {
    const { getContainerRuntimeClient } = await import('testcontainers');
    await getContainerRuntimeClient();
    return true;
  } catch {
    return false;
  }
}

/** One node in a container. The port is fixed, because a broker advertises its own address. */
export async function startInDocker(): Promise<KafkaBroker> {
  const { GenericContainer, getContainerRuntimeClient, Wait } = await import('testcontainers');
  const port = randomInt(20_000, 30_000);
  const container = await new GenericContainer(`apache/kafka:${kafkaVersion}`)
    .withExposedPorts({ container: port, host: port })
    .withEnvironment({
      KAFKA_NODE_ID: '1',
      KAFKA_PROCESS_ROLES: 'broker,controller',
      KAFKA_LISTENERS: `PLAINTEXT://:${port},CONTROLLER://:9093`,
      KAFKA_ADVERTISED_LISTENERS: `PLAINTEXT://127.0.0.1:${port}`,
      KAFKA_CONTROLLER_LISTENER_NAMES: 'CONTROLLER',
      KAFKA_LISTENER_SECURITY_PROTOCOL_MAP: 'CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT',
      KAFKA_CONTROLLER_QUORUM_VOTERS: '1@localhost:9093',
      KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS: '3',
      KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR: '1',
      KAFKA_TRANSACTION_STATE_LOG_MIN_ISR: '1',
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR: '1',
      KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR: '1',
      KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS: '0',
      KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS: '1000',
      KAFKA_AUTO_CREATE_TOPICS_ENABLE: 'false',
    })
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .start();
  const { container: containers } = await getContainerRuntimeClient();
  const handle = containers.getById(container.getId());
  return {
    brokers: [`127.0.0.1:${port}`],
    stop: async () => void (await container.stop()),
    kill: async () => void (await handle.kill()),
    restart: async () => void (await container.restart()),
    pause: async () => void (await handle.pause()),
    resume: async () => void (await handle.unpause()),
  };
}
