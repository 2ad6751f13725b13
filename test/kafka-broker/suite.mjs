// Jest's global setup and teardown of the suites that need Kafka: one broker for the whole run, found or started, then stopped.
import { findKafka, startKafkaBroker } from './broker.ts';

let broker;

export async function start() {
  // Two suites of one run share it. Without a broker, npm test has left out the specs that need one.
  if (broker || (await findKafka()).from === 'nowhere') return;
  broker = await startKafkaBroker();
  // Jest's workers are started after this and inherit it.
  process.env.KAFKA_BROKERS = broker.brokers.join(',');
}

export async function stop() {
  await broker?.stop();
  broker = undefined;
}
