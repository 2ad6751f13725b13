// Jest's global setup and teardown of the Kafka suite: one broker for the whole run, found or started, and surely ended.
import { startKafkaBroker } from './broker.ts';

let broker;

export async function start() {
  broker = await startKafkaBroker();
  // Jest's workers are started after this and inherit it.
  process.env.KAFKA_BROKERS = broker.brokers.join(',');
}

export async function stop() {
  await broker?.stop();
}
