import { Partitioners } from 'kafkajs';
import type { Kafka, Message as Outgoing, Producer } from 'kafkajs';
import { atMost } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { MessageTooLargeError } from '../message-bus.js';
import type { MessagePublisher } from '../message-bus.js';
import { refusalOf, toBusError, TopicsMissingError } from './bus-errors.js';
import type { KafkaTopics } from './kafka-topics.js';
import { farewellMsMax } from './farewell.js';

/** Sends messages in the client's form, including the bytes of dead letters. */
export interface KafkaSender {
  /** Resolves when every replica that counts has them. @throws BusUnavailableError, MessageTooLargeError */
  readonly send: (topic: string, messages: readonly Outgoing[]) => Promise<void>;
  /** Waits for the send in flight, a few seconds at most, and refuses what is queued after it. */
  readonly close: () => Promise<void>;
}

interface Job {
  readonly topic: string;
  readonly messages: readonly Outgoing[];
  readonly bytes: number;
  /** Set once a part of the same publish has failed. */
  readonly publish: { failure?: Error };
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

/** By default a broker refuses more than 1 MiB at once; headers and keys need room too. */
const bytesMax = 700 * 1024;
const messagesMax = 2_000;
const acksAll = -1;

/**
 * One send at a time, each with everything that is queued: a retry of a failed send cannot overtake the next one, and
 * many small publishes share one round trip. Messages queued behind a permanently failed send fail with it: a caller
 * that publishes both again keeps the order of a key, which would be impossible if the second one were published.
 */
export function createKafkaSender(kafka: Kafka, topics: Pick<KafkaTopics, 'missing'>, clock: Clock): KafkaSender {
  const waiting: Job[] = [];
  const known = new Set<string>();
  let producer: Promise<Producer> | undefined;
  let pumping: Promise<void> | undefined;
  let closed = false;

  const connect = async (): Promise<Producer> => {
    const opened = kafka.producer({
      allowAutoTopicCreation: false,
      createPartitioner: Partitioners.DefaultPartitioner,
    });
    await opened.connect();
    return opened;
  };
  const connected = (): Promise<Producer> =>
    (producer ??= connect().catch((error: unknown) => {
      producer = undefined;
      throw error;
    }));
  /** The client would try for nine seconds to send to a topic that is not there. */
  const ensureTopics = async (wanted: ReadonlySet<string>): Promise<void> => {
    const unknown = [...wanted].filter((topic) => !known.has(topic));
    if (unknown.length === 0) return;
    const missing = await topics.missing(unknown);
    if (missing.length > 0) throw new TopicsMissingError(missing);
    for (const topic of unknown) known.add(topic);
  };
  const send = async (jobs: readonly Job[]): Promise<void> => {
    await ensureTopics(new Set(jobs.map(({ topic }) => topic)));
    const topicMessages = [...Map.groupBy(jobs, ({ topic }) => topic)].map(([topic, ofTopic]) => ({
      topic,
      messages: ofTopic.flatMap(({ messages }) => messages),
    }));
    await (await connected()).sendBatch({ topicMessages, acks: acksAll });
  };
  const attemptThese = async (jobs: readonly Job[]): Promise<void> => {
    try {
      await send(jobs);
      for (const job of jobs) job.resolve();
    } catch (failure) {
      if (refusalOf(failure) === 'UNKNOWN_TOPIC_OR_PARTITION') known.clear();
      const error = toBusError(failure, 'not published');
      // A message that is too large must not fail the others of its batch.
      if (error instanceof MessageTooLargeError && jobs.length > 1) for (const job of jobs) await attempt([job]);
      else refuse(error instanceof MessageTooLargeError ? jobs : [...jobs, ...waiting.splice(0)], error);
    }
  };
  const attempt = async (jobs: readonly Job[]): Promise<void> => {
    for (const { publish, reject } of jobs) if (publish.failure !== undefined) reject(publish.failure);
    const going = jobs.filter(({ publish }) => publish.failure === undefined);
    if (going.length > 0) await attemptThese(going);
  };
  const pump = async (): Promise<void> => {
    // Publishes in the same turn of the event loop are sent together.
    await Promise.resolve();
    while (waiting.length > 0) await attempt(takeSome(waiting));
    pumping = undefined;
  };
  const leave = async (): Promise<void> => {
    await pumping;
    const opened = await producer?.catch(() => undefined);
    await opened?.disconnect();
  };
  return {
    send: async (topic, messages) => {
      if (closed) throw toBusError(new Error('the bus is closed'), 'not published');
      const publish = {};
      const sent = split(messages).map(
        (part) =>
          new Promise<void>((resolve, reject) => {
            waiting.push({ topic, ...part, publish, resolve, reject });
          }),
      );
      pumping ??= pump();
      await allOf(sent);
    },
    close: async () => {
      closed = true;
      refuse(waiting.splice(0), toBusError(new Error('the bus is closed'), 'not published'));
      await atMost(clock, farewellMsMax, leave());
    },
  };
}

/** The port's publisher. */
export function createKafkaPublisher(sender: KafkaSender): MessagePublisher {
  return {
    publish: (topic, messages) =>
      sender.send(
        topic,
        messages.map(({ key, value, headers }) => ({ key, value: Buffer.from(value), headers: { ...headers } })),
      ),
  };
}

function refuse(jobs: readonly Job[], error: Error): void {
  for (const { publish, reject } of jobs) {
    publish.failure = error;
    reject(error);
  }
}

/** Takes as many jobs from the front as one send may contain; at least one. */
function takeSome(waiting: Job[]): readonly Job[] {
  let [bytes, messages, count] = [0, 0, 0];
  for (const job of waiting) {
    bytes += job.bytes;
    messages += job.messages.length;
    if (count > 0 && (bytes > bytesMax || messages > messagesMax)) break;
    count += 1;
  }
  return waiting.splice(0, count);
}

/** In order, in batches that one send may contain. */
function split(messages: readonly Outgoing[]): { readonly messages: readonly Outgoing[]; readonly bytes: number }[] {
  const parts: { messages: Outgoing[]; bytes: number }[] = [];
  for (const message of messages) {
    const bytes = sizeOf(message);
    const last = parts.at(-1);
    if (last === undefined || last.bytes + bytes > bytesMax || last.messages.length === messagesMax) {
      parts.push({ messages: [message], bytes });
    } else {
      last.messages.push(message);
      last.bytes += bytes;
    }
  }
  return parts;
}

/** An estimate of its size on the wire. */
function sizeOf({ key, value, headers }: Outgoing): number {
  let bytes = 32 + (key?.length ?? 0) + (value?.length ?? 0);
  for (const [name, header] of Object.entries(headers ?? {})) bytes += 8 + name.length + (header?.length ?? 0);
  return bytes;
}

/** Waits for all and throws the first failure, so that none is left unheard. */
async function allOf(sent: readonly Promise<void>[]): Promise<void> {
  const failed = (await Promise.allSettled(sent)).find((each) => each.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
}
