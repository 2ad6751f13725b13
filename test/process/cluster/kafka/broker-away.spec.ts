import { randomBytes } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import type { KafkaBroker } from '../../../kafka-broker/handles.ts';
import { cleanUpAfterEach, onCleanup } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import type { Server } from '../../harness/server.js';
import { eventually, within } from '../../harness/wait.js';
import { openStoreServer, readinessOf, startRole, untilWaitingFor } from '../roles.js';
import { createTopics } from './create-topics.js';

cleanUpAfterEach();

/** Processes of these roles at work, on a broker that a test may do things to. */
async function startRoles(roles: readonly string[]): Promise<{ broker: KafkaBroker; processes: Server[] }> {
  const broker = await startKafkaBroker({ own: true });
  onCleanup(() => broker.stop());
  const store = await openStoreServer();
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: store.url,
    COUNTERSIGN_KAFKA_BROKERS: broker.brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: `away-${randomBytes(4).toString('hex')}`,
  };
  await createTopics({ ...env, COUNTERSIGN_TOPIC_PARTITIONS: '3', COUNTERSIGN_TOPIC_REPLICATION: '1' });
  const processes = await Promise.all(roles.map((role) => startRole(role, env)));
  for (const server of processes) {
    await eventually('the process to be ready', async () =>
      (await readinessOf(server))?.status === 200 ? true : undefined,
    );
  }
  return { broker, processes };
}

describe('SIGTERM while the broker is away', () => {
  test.each([
    ['is gone', (broker: KafkaBroker) => broker.kill()],
    ['hangs', (broker: KafkaBroker) => broker.pause()],
  ])(
    'ends a process in order within 10 s: it %s',
    async (_, take) => {
      const { broker, processes } = await startRoles(['ledger', 'relay']);
      const [ledger] = processes;
      onCleanup(() => broker.resume().catch(() => undefined));
      await take(broker);
      await untilWaitingFor(ledger!, 'kafka', /the brokers have not answered/);
      const exits = await Promise.all(
        processes.map((server) => {
          server.kill('SIGTERM');
          return within(100_000, server.exited);
        }),
      );
      expect(exits).toEqual(processes.map(() => ({ code: 0, signal: null })));
      for (const server of processes) expect(server.output()).not.toContain('TimeoutNegativeWarning');
    },
    300_000,
  );

  test('ends a process that never had one', async () => {
    const store = await openStoreServer();
    const brokers = `127.0.0.1:${String(await freePort())}`;
    const env = { COUNTERSIGN_EVENTSTORE_URL: store.url, COUNTERSIGN_KAFKA_BROKERS: brokers };
    const ledger = await startRole('ledger', env);
    await untilWaitingFor(ledger, 'kafka', /cannot be asked/);
    ledger.kill('SIGTERM');
    expect(await within(100_000, ledger.exited)).toEqual({ code: 0, signal: null });
  }, 300_000);
});
