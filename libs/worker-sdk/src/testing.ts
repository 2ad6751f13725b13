import type { connectKafka as connect } from './kafka/connection.js';

export { createFakeCountersign } from './testing/fake-countersign.js';
export type { FakeCountersign } from './testing/fake-countersign.js';
export type { FakeRemarks } from './testing/fake-life.js';
export type { KafkaConnection } from './kafka/connection.js';

/** Loaded when it is called: kafkajs is an optional package. */
export const connectKafka: typeof connect = async (options) =>
  (await import('./kafka/connection.js')).connectKafka(options);
