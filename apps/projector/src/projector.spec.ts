import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewEvent } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore } from '@countersign/event-store';
import { openReadModel } from '@countersign/read-model';
import type { ReadModel } from '@countersign/read-model';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { createProjector } from './projector.js';

let folder: string;
let store: EmbeddedEventStore;
let readModel: ReadModel;
const log = createSilentLog();
const clock = createVirtualClock();

const activation = (n: number): NewEvent => ({
  eventId: `00000000-0000-5000-8000-${String(n).padStart(12, '0')}`,
  type: 'PolicyActivated',
  data: {
    policyVersion: `sha256:${'0'.repeat(64)}`,
    content: {},
    activatedBy: 'me',
    activatedAt: '2030-01-01T00:00:00.000Z',
  },
  metadata: { tenant: 'default', callId: null, runId: null, schemaVersion: 1, commandId: `c${String(n)}` },
});

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-projector-'));
  store = await openEmbeddedEventStore({ folder, clock, log });
  readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log });
});

afterEach(async () => {
  readModel.close();
  await store.close();
  rmSync(folder, { recursive: true });
});

describe('the projector', () => {
  it('is ready once it has caught up, and shows a write before the write is answered', async () => {
    await store.append('policy-a', noStream, [activation(1)]);
    const projector = createProjector({ store, readModel, clock, log });
    expect(projector.health()).toEqual({ status: 'starting' });
    await projector.start();
    expect(projector.health()).toEqual({ status: 'ok' });
    const written = await store.append('policy-a', 0, [activation(2)]);
    expect(written.status === 'committed' && readModel.checkpoint() === written.position).toBe(true);
    await projector.stop();
    await store.append('policy-a', 1, [activation(3)]);
    expect(readModel.checkpoint()).toBeLessThan(await store.head());
  });

  it('goes on in memory while its file cannot be written, as on a full disk, says so, and is well afterwards', async () => {
    let isFull = false;
    const flush = (): void => {
      if (isFull) throw new Error('database or disk is full');
      readModel.flush();
    };
    const apply: ReadModel['apply'] = (events) => {
      readModel.apply(events);
      flush();
    };
    const projector = createProjector({ store, readModel: { ...readModel, apply, flush }, clock, log });
    await projector.start();
    isFull = true;
    await store.append('policy-a', noStream, [activation(1)]);
    await clock.advanceAsync(0);
    expect(projector.health()).toEqual({ status: 'failed', why: 'database or disk is full' });
    for (const n of [2, 3]) {
      const written = store.append('policy-a', n - 2, [activation(n)]);
      await clock.advanceAsync(600);
      expect((await written).status).toBe('committed');
      await readModel.reached(await store.head());
      expect(projector.health()).toMatchObject({ status: 'failed' });
    }
    isFull = false;
    await clock.advanceAsync(600);
    expect(projector.health()).toEqual({ status: 'ok' });
    await store.append('policy-a', 2, [activation(4)]);
    expect(readModel.checkpoint()).toBe(await store.head());
    await projector.stop();
  });

  it('follows again after a failure that comes once its file could be written again', async () => {
    let isFull = false;
    const flush = (): void => {
      if (isFull) throw new Error('the keeper of the keys cannot be asked');
      readModel.flush();
    };
    let failing: ((error: Error) => void) | undefined;
    const subscribe: EmbeddedEventStore['subscribe'] = (after, handler) => {
      failing = handler.onError;
      return store.subscribe(after, handler);
    };
    const projector = createProjector({
      store: { ...store, subscribe },
      readModel: { ...readModel, flush },
      clock,
      log,
    });
    await projector.start();
    isFull = true;
    failing?.(new Error('the loan has ended'));
    await clock.advanceAsync(500);
    isFull = false;
    await clock.advanceAsync(500);
    expect(projector.health()).toEqual({ status: 'ok' });
    failing?.(new Error('the loan has ended'));
    expect(projector.health()).toMatchObject({ status: 'failed' });
    await clock.advanceAsync(500);
    expect(projector.health()).toEqual({ status: 'ok' });
    await projector.stop();
  });

  it('says that it failed, and why, when an event cannot be folded', async () => {
    const apply = (): void => {
      throw new Error('the row does not fit');
    };
    const projector = createProjector({ store, readModel: { ...readModel, apply }, clock, log });
    await projector.start();
    await store.append('policy-a', noStream, [activation(1)]);
    await expect(readModel.reached(await store.head(), AbortSignal.timeout(50))).rejects.toThrow();
    expect(projector.health()).toMatchObject({ status: 'failed', why: expect.stringContaining('does not fit') });
    await projector.stop();
  });

  it('goes on after an event of a later version, and is well', async () => {
    const projector = createProjector({ store, readModel, clock, log });
    await projector.start();
    const newer = activation(1);
    await store.append('policy-a', noStream, [{ ...newer, metadata: { ...newer.metadata, schemaVersion: 99 } }]);
    await store.append('policy-b', noStream, [activation(2)]);
    await readModel.reached(await store.head(), AbortSignal.timeout(5000));
    expect(projector.health()).toEqual({ status: 'ok' });
    await projector.stop();
  });
});
