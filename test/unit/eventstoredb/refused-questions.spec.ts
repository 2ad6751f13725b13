import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { QuestionRefusedError } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { LogRewoundError, openReadModel } from '@countersign/read-model';
import { createSilentLog } from '@countersign/runtime/testing';
import { cleanUpAfterEach, onCleanUp, openReadyStore, patient, startServer, until } from './harness.js';

cleanUpAfterEach();

async function world() {
  const server = await startServer();
  const opened = await openReadyStore(server.url, patient);
  const { store } = opened;
  for (let call = 0; call < 5; call += 1) await store.append(sampleStream(), noStream, sampleEvents(2));
  const [first, second] = (await store.readAll(0, 2)).map(({ position }) => position);
  if (first === undefined || second === undefined) throw new Error('two events were recorded');
  const reads = (): number => server.calls.filter((call) => call.startsWith('Streams/Read $all')).length;
  return { ...opened, server, first, second, reads };
}

describe('a question that the server refuses', () => {
  it('is an error of its own: asked once, and the store is well', async () => {
    const { store, log, first, second, reads } = await world();
    const before = reads();
    for (let count = 0; count < 5; count += 1)
      await expect(store.readAll(first + 1, 10)).rejects.toThrow(QuestionRefusedError);
    // Kurrent's client cannot tell it from an outage, so its answer is confirmed.
    expect(reads() - before).toBeLessThanOrEqual(5 * 4);
    expect(store.health()).toEqual({ status: 'ok' });
    expect(log.entries.filter(({ level }) => level === 'warn' || level === 'error')).toEqual([]);
    expect(await store.readAll(first, 1)).toMatchObject([{ position: second }]);
  });

  it('ends a subscription with that error, and does not resume it', async () => {
    const { store, first, reads } = await world();
    const errors: unknown[] = [];
    store.subscribe(first + 1, { onEvents: () => undefined, onError: (error) => errors.push(error) });
    await until(() => errors.length > 0, 'the error');
    const asked = reads();
    expect(errors).toEqual([expect.any(QuestionRefusedError)]);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(reads()).toBe(asked);
    expect(store.health()).toEqual({ status: 'ok' });
  });

  it('tells that a read model was built from another log', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-another-log-'));
    onCleanUp(() => {
      rmSync(folder, { recursive: true, force: true });
    });
    const file = join(folder, 'read-model.db');
    const log = createSilentLog();
    const [one, other] = [await world(), await world()];
    await one.store.append(sampleStream(), noStream, [...sampleEvents(1), ...sampleEvents(2)]);
    const readModel = await openReadModel({ file, source: { ...one.store, head: async () => one.second }, log });
    readModel.close();
    const shifted = {
      ...other.store,
      // As if the other log had its events elsewhere.
      readAll: (after: number, limit: number) => other.store.readAll(after === 0 ? 0 : after + 1, limit),
    };
    await expect(openReadModel({ file, source: shifted, log })).rejects.toThrow(LogRewoundError);
  });
});
