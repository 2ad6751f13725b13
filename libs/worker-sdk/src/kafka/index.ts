export { kafka } from './open-requests.js';
export { connectKafka } from './load-connection.js';
export type { KafkaConnection } from './connection.js';
