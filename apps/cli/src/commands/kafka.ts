import type { KafkaBus } from '@countersign/message-bus/kafka';
import { localError } from '../cli-error.js';
import type { Output } from '../invocation.js';

/** The Kafka settings of the environment. */
export interface KafkaAndTopics {
  readonly kafka: KafkaBus;
  readonly brokers: readonly string[];
  readonly partitions: number;
  readonly replication: number;
}

/** Opens Kafka as the environment names it, does the work, and closes it again. Loads the client only here. */
export async function withKafka<T>({ terminal }: Output, work: (opened: KafkaAndTopics) => Promise<T>): Promise<T> {
  const { ConfigError, createLog, createSystemIds, systemClock } = await import('@countersign/runtime');
  const { readTopicsConfig, toConnection } = await import('@countersign/cluster');
  const { BusUnavailableError, openKafka } = await import('@countersign/message-bus/kafka');
  try {
    const config = readTopicsConfig(terminal.env);
    const kafka = openKafka({
      ...toConnection(config.kafka, 'countersign-cli'),
      clock: systemClock,
      ids: createSystemIds(),
      // Errors are thrown. The client would log each of its retries as well.
      log: createLog({ level: 'silent' }),
    });
    const { partitions, replication } = config;
    const { brokers } = config.kafka;
    try {
      return await work({ kafka, brokers, partitions, replication });
    } finally {
      await kafka.close();
    }
  } catch (error) {
    if (error instanceof ConfigError) {
      const problems = error.problems.map(({ variable, problem }) => `${variable}: ${problem}`);
      throw localError('usage', 'configuration', `The configuration is not valid. ${problems.join('; ')}`);
    }
    if (error instanceof BusUnavailableError) {
      throw localError('unreachable', 'unreachable', error.message, 'Check COUNTERSIGN_KAFKA_BROKERS and the brokers.');
    }
    throw error;
  }
}
