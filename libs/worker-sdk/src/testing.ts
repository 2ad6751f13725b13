export { createFakeCountersign } from './testing/fake-countersign.js';
export type { FakeCountersign, FakeRemarks } from './testing/fake-countersign.js';
export { connectKafka } from './kafka/connection.js';
export type { KafkaConnection } from './kafka/connection.js';
