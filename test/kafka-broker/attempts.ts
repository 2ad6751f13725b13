import kafkajs from 'kafkajs';
import type { Kafka, KafkaConfig } from 'kafkajs';

const { logLevel, Partitioners } = kafkajs;

/** A client that asks once: the first refusal of the broker is the result. */
export function impatientClient(
  connection: Omit<KafkaConfig, 'brokers' | 'retry' | 'logLevel'> & { readonly brokers: readonly string[] },
): Kafka {
  const retry = { retries: 0, restartOnFailure: () => Promise.resolve(false) };
  return new kafkajs.Kafka({ ...connection, brokers: [...connection.brokers], retry, logLevel: logLevel.NOTHING });
}

/** Writes one message. Returns `done`, or the broker's name of the error. */
export async function tryToPublish(client: Kafka, topic: string): Promise<string> {
  const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
  try {
    await producer.connect();
    await producer.send({ topic, messages: [{ key: 'k', value: '{}', headers: { ce_id: 'x' } }] });
    return 'done';
  } catch (error) {
    return refusalOf(error);
  } finally {
    await producer.disconnect();
  }
}

/** Joins a group and reads one message. Returns `done`, or the broker's name of the error. */
export async function tryToRead(client: Kafka, topic: string, groupId: string): Promise<string> {
  const consumer = client.consumer({
    ...{ groupId, sessionTimeout: 6_000, maxWaitTimeInMs: 100 },
    retry: { retries: 0, restartOnFailure: () => Promise.resolve(false) },
  });
  const ended = Promise.withResolvers<string>();
  consumer.on(consumer.events.CRASH, ({ payload }) => ended.resolve(refusalOf(payload.error)));
  try {
    await consumer.connect();
    await consumer.subscribe({ topic, fromBeginning: true });
    await consumer.run({ autoCommit: false, eachBatch: async () => ended.resolve('done') });
    return await ended.promise;
  } catch (error) {
    return refusalOf(error);
  } finally {
    await consumer.disconnect();
  }
}

/** The broker's name of the refusal in an error of the client; for any other error its text. */
export function refusalOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = causeOf(cause)) {
    const type: unknown = Reflect.get(cause, 'type');
    if (typeof type === 'string') return type;
  }
  return String(error);
}

/** The client collects the errors of several topics in one. */
function causeOf(error: Error): unknown {
  const errors: unknown = Reflect.get(error, 'errors');
  return Array.isArray(errors) ? errors[0] : error.cause;
}
