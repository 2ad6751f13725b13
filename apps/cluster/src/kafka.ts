import type { MessageBus, TopicNames } from '@countersign/message-bus';
import { BusUnavailableError, openKafka, TopicsMissingError } from '@countersign/message-bus/kafka';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { countParked } from '@countersign/shell';
import { toConnection } from './kafka-connection.js';
import { untilDone } from './role-process.js';
import type { RoleProcess } from './role-process.js';

/** Kafka for one role. */
export interface Topics {
  readonly kafka: KafkaBus;
  /** The role's consumer groups carry the topic prefix, so two installations on one Kafka do not share progress. */
  readonly bus: MessageBus;
  readonly names: TopicNames;
  /** The name of a group on this Kafka. */
  readonly group: (name: string) => string;
}

/** Opens Kafka once the role's topics exist. Until then readiness names the missing topics and the remedy. */
export async function openTopics(
  process: RoleProcess,
  needed: (names: TopicNames) => readonly string[],
): Promise<Topics> {
  const { config, clock, ids, log, registry, fail, check, onStop } = process;
  if (config.kafka === null) throw new Error(`the role ${config.role} has no configuration of Kafka`);
  const kafka = openKafka({
    ...toConnection(config.kafka, `countersign-${config.role}`),
    ...(config.kafka.sessionTimeoutMs === null ? {} : { sessionTimeoutMs: config.kafka.sessionTimeoutMs }),
    clock,
    ids,
    log,
    onParked: countParked(registry),
    onFatal: (error) => {
      fail(error.message);
    },
  });
  onStop(() => kafka.close());
  const { names } = kafka.topics;
  await untilDone(process, 'kafka', isKafkaAway, async () => {
    const missing = await kafka.topics.missing(needed(names));
    if (missing.length > 0) throw new TopicsMissingError(missing);
  });
  check({
    name: 'kafka',
    check: () => {
      const { state, why = state } = kafka.status();
      return state === 'running' ? { status: 'ok' } : { status: 'failing', why };
    },
  });
  const { topicPrefix } = config.kafka;
  const group = (name: string): string => `${topicPrefix}-${name}`;
  const bus: MessageBus = {
    ...kafka.bus,
    subscribe: (options) => kafka.bus.subscribe({ ...options, group: group(options.group) }),
  };
  return { kafka, names, bus, group };
}

function isKafkaAway(error: unknown): boolean {
  return error instanceof BusUnavailableError;
}
