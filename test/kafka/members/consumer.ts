// node consumer.ts BROKERS PREFIX GROUP DELAY_MS: handles the events topic and prints `key id` when it starts a
// message. A message with the header `poison` aborts the process.
import { setTimeout } from 'node:timers/promises';
import { openKafka } from '@countersign/message-bus/kafka';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';

const [brokers = '', topicPrefix = '', group = '', delayMs = '0'] = process.argv.slice(2);
const kafka = openKafka({
  brokers: brokers.split(','),
  clientId: 'consumer',
  topicPrefix,
  sessionTimeoutMs: 6_000,
  clock: systemClock,
  ids: createSystemIds(),
  log: createLog({ level: 'silent' }),
});
kafka.bus.subscribe({
  group,
  topics: [kafka.topics.names.events],
  onMessage: async ({ key, headers }) => {
    process.stdout.write(`${key ?? ''} ${headers['ce_id'] ?? ''}\n`);
    if (headers['poison'] !== undefined) process.abort();
    await setTimeout(Number(delayMs));
  },
});
process.once('SIGTERM', () => void kafka.close().then(() => process.exit(0)));
