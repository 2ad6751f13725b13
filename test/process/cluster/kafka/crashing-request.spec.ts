import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { promisify } from 'node:util';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { cloudEvent, openRequestsTopic } from '../faults/requests-topic.js';
import { readStoreLog } from '../faults/store-log.js';
import { openStoreServer, startRole } from '../roles.js';
import { createTopics } from './create-topics.js';

cleanUpAfterEach();

const cli = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

test('a request that kills three ledgers is parked, and the honest request behind it is recorded', async () => {
  const broker = await startKafkaBroker();
  onCleanup(() => broker.stop());
  const storeFolder = temporaryFolder();
  const store = await openStoreServer(undefined, storeFolder);
  const topicPrefix = `crashing-${randomBytes(4).toString('hex')}`;
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: store.url,
    COUNTERSIGN_KAFKA_BROKERS: broker.brokers.join(','),
    COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: '6000',
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
  };
  await createTopics({ ...env, COUNTERSIGN_TOPIC_PARTITIONS: '1', COUNTERSIGN_TOPIC_REPLICATION: '1' });
  const requestOf = (runId: string, id: string) => ({
    key: runId,
    value: JSON.stringify({ runId, calls: [{ toolCallId: 'c', toolName: 'delete_file', arguments: {} }] }),
    headers: cloudEvent(id, 'ToolCallRequested'),
  });
  const topic = `${topicPrefix}.requests.v1`;
  const { publishRaw } = await openRequestsTopic(broker.brokers, topic);
  await publishRaw(topic, [
    ...['before-1', 'before-2'].map((id) => requestOf(id, id)),
    requestOf('evil', 'evil'),
    requestOf('honest', 'honest'),
  ]);
  const lethal = { ...env, COUNTERSIGN_CRASH_AT: 'ledger.request.evil' };
  for (let life = 1; life <= 3; life += 1) {
    const ledger = await startRole('ledger', lethal);
    expect(await ledger.exited).toEqual({ code: null, signal: 'SIGKILL' });
  }
  const ledger = await startRole('ledger', lethal);
  const runs = (): readonly (string | null)[] =>
    readStoreLog(storeFolder)
      .filter(({ type }) => type === 'ToolCallRequested')
      .map(({ runId }) => runId);
  await eventually('the honest request to be recorded', async () => (runs().includes('honest') ? true : undefined));
  expect([...runs()].sort()).toEqual(['before-1', 'before-2', 'honest']);
  expect(ledger.output()).toContain('a message is parked');
  expect(ledger.output()).toContain('crashed');
  const metrics = await eventually('the metric to count it', async () => {
    const { text } = await ledger.http.send({ method: 'GET', path: '/metrics' });
    return text.includes('countersign_messages_parked_total') ? text : undefined;
  });
  expect(metrics).toMatch(/countersign_messages_parked_total\{[^}]*code="crashed"[^}]*\} 1/);

  const operator = async (...args: readonly string[]): Promise<string> =>
    (await promisify(execFile)(process.execPath, [cli, 'dead-letters', ...args], { env: { ...process.env, ...env } }))
      .stdout;
  const letters = (await operator('list', '--json')).trim().split('\n').filter(Boolean);
  const [letter] = letters.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(letters).toHaveLength(1);
  expect(letter).toMatchObject({
    ...{ code: 'crashed', attempts: 3, group: `${topicPrefix}-ledger`, key: 'evil', topic },
    headers: expect.objectContaining({ ce_id: 'evil' }) as unknown,
    value: requestOf('evil', 'evil').value,
  });

  // The operator has fixed the cause: it is handled like any other.
  await ledger.stop();
  await startRole('ledger', env);
  await operator('replay', String(letter?.['id']));
  await eventually('the replayed request to be recorded', async () => (runs().includes('evil') ? true : undefined));
}, 480_000);
