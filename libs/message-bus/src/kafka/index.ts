export { BusUnavailableError, TopicsMissingError } from './bus-errors.js';
export type { KafkaConnection } from './kafka-client.js';
export { rightsEntries } from './kafka-rights.js';
export type { KafkaRights } from './kafka-rights.js';
export { createWithLeaders } from './kafka-topics.js';
export type { CreateTopicsOptions, KafkaTopics, TopicDescription } from './kafka-topics.js';
export { openKafka } from './open-kafka.js';
export type { KafkaBus, KafkaHealth, KafkaOptions } from './open-kafka.js';
export { ConsumerStalledError } from './stall.js';
