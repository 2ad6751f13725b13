import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { cloudEvent, openRequestsTopic } from '../faults/requests-topic.js';
import { readStoreLog } from '../faults/store-log.js';
import { openStoreServer, readinessOf, startRole } from '../roles.js';
import { createTopics } from './create-topics.js';

cleanUpAfterEach();

/** Ten variants at each level, six levels deep: a million ways to apply it. */
const toolSchema = {
  $defs: { x: { anyOf: Array.from({ length: 10 }, () => ({ additionalProperties: { $ref: '#/$defs/x' } })) } },
  $ref: '#/$defs/x',
};
const nested = { b: { b: { b: { b: { b: { b: {} } } } } } };

test('a request whose schema branches without end is answered, and the ledger goes on', async () => {
  const broker = await startKafkaBroker();
  onCleanup(() => broker.stop());
  const storeFolder = temporaryFolder();
  const store = await openStoreServer(undefined, storeFolder);
  const topicPrefix = `hostile-${randomBytes(4).toString('hex')}`;
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: store.url,
    COUNTERSIGN_KAFKA_BROKERS: broker.brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
  };
  await createTopics({ ...env, COUNTERSIGN_TOPIC_PARTITIONS: '1', COUNTERSIGN_TOPIC_REPLICATION: '1' });
  const ledger = await startRole('ledger', env);
  const topic = `${topicPrefix}.requests.v1`;
  const { publishRaw } = await openRequestsTopic(broker.brokers, topic);
  const requestOf = (runId: string, call: object) => ({
    key: runId,
    value: JSON.stringify({ runId, calls: [{ toolCallId: 'c', toolName: 't', ...call }] }),
    headers: cloudEvent(runId, 'ToolCallRequested'),
  });
  await publishRaw(topic, [
    requestOf('hostile', { arguments: nested, toolSchema }),
    requestOf('honest', { arguments: {} }),
  ]);
  const recorded = await eventually('the honest request to be recorded', async () => {
    const log = readStoreLog(storeFolder);
    return log.some(({ runId, type }) => runId === 'honest' && type === 'ToolCallRequested') ? log : undefined;
  });
  // The response depends on the schema's interpreter: these arguments fit a schema without constraints.
  const [answer] = recorded.filter(({ runId }) => runId === 'hostile');
  expect(['ToolCallRequested', 'RequestRefused']).toContain(answer?.type);
  expect((await readinessOf(ledger))?.status).toBe(200);
}, 300_000);
