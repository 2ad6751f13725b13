import { jest } from '@jest/globals';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { EventStoreUnavailableError, noStream } from '../event-store.js';
import { sampleEvent, sampleEvents, sampleStream } from '../sample-events.js';
import { createAppender } from './appender.js';
import { createCheckpoints } from './checkpoints.js';
import { createCommit } from './commit.js';
import { openDatabase } from './database.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import { createLogFile } from './log-file.js';
import type { LogFile } from './log-file.js';
import { createLogReader } from './log-reader.js';
import { createLeafHash, genesisChain } from './stored-event.js';
import { createWriteGuard } from './write-guard.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const sqliteError = (errcode: number, message: string): Error =>
  Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode });
const [full, ioError, corrupt] = [
  sqliteError(13, 'database or disk is full'),
  sqliteError(10 | (4 << 8), 'disk I/O error'),
  sqliteError(11, 'database disk image is malformed'),
];

describe('a full disk', () => {
  it('fails the append and nothing else: no part of it is seen, reads go on, and nothing acknowledged is lost', async () => {
    const options = { folder, log: createSilentLog(), clock: systemClock };
    const small = await openEmbeddedEventStore({ ...options, bytesMax: 300_000 });
    const acknowledged: string[] = [];
    let failure: unknown;
    const seen: string[] = [];
    small.subscribe(0, {
      onEvents: (events) => void seen.push(...events.map(({ stream }) => stream)),
      onError: () => undefined,
    });
    while (failure === undefined && acknowledged.length < 1000) {
      const stream = sampleStream();
      const result = await small
        .append(stream, noStream, [sampleEvent('x'.repeat(3000)), sampleEvent()])
        .catch((error: unknown) => {
          failure = error;
        });
      if (result?.status === 'committed') acknowledged.push(stream);
    }
    expect(failure).toBeInstanceOf(EventStoreUnavailableError);
    expect(failure).toMatchObject({
      message: expect.stringContaining('the disk is full: nothing was written') as unknown,
      cause: { errcode: 13 },
    });
    expect(small.health()).toMatchObject({
      status: 'read-only',
      why: expect.stringContaining('the disk is full') as unknown,
    });
    expect(await small.head()).toBe(acknowledged.length * 2);
    expect(await small.readAll(await small.head(), 10)).toEqual([]);
    expect(seen).toHaveLength(acknowledged.length * 2);
    await expect(small.append('b', noStream, sampleEvents(1))).rejects.toThrow(EventStoreUnavailableError);
    await small.close();

    const large = await openEmbeddedEventStore(options);
    for (const stream of acknowledged) expect(await large.readStream(stream)).toHaveLength(2);
    expect(await large.append('b', noStream, sampleEvents(1))).toMatchObject({ status: 'committed' });
    expect(await large.verify()).toMatchObject({ status: 'ok' });
    await large.close();
  });
});

describe('a commit', () => {
  /** The write path over a log whose statements fail on command. */
  function writer(failures: Partial<Record<'begin' | 'insertEvent' | 'commit' | 'rollback', Error[]>>) {
    const { database } = openDatabase(join(folder, 'events.db'));
    const real = createLogFile(database);
    const calls: string[] = [];
    const attempt = (name: keyof typeof failures): void => {
      calls.push(name);
      const failure = failures[name]?.shift();
      if (failure !== undefined) throw failure;
    };
    const log: LogFile = {
      ...real,
      begin: () => void [attempt('begin'), real.begin()],
      insertEvent: (row) => void [attempt('insertEvent'), real.insertEvent(row)],
      commit: () => void [attempt('commit'), real.commit()],
      rollback: () => void [attempt('rollback'), real.rollback()],
    };
    const clock = createVirtualClock();
    const leafHash = createLeafHash();
    const reader = createLogReader(log, leafHash);
    const guard = createWriteGuard(clock.monotonic);
    const appender = createAppender(log, reader, leafHash, { position: 0, chain: genesisChain });
    const published: number[] = [];
    const { commit } = createCommit({
      log,
      appender,
      guard,
      clock,
      metrics: undefined,
      acknowledge: () => undefined,
      publish: (events) => void published.push(...events.map(({ position }) => position)),
    });
    const event = { event: sampleEvent(), metadata: '{}', data: '{}' };
    const append = (stream = 'a') => {
      guard.admit();
      return commit([{ stream, expectedRevision: noStream, events: [event] }])[0];
    };
    return { append, guard, clock, calls, published, reader, close: () => database.close() };
  }

  it('finds space again: a write is let through every few seconds, not before', () => {
    const { append, guard, clock, calls, reader, close } = writer({ commit: [full, full] });
    expect(() => append()).toThrow(EventStoreUnavailableError);
    expect(() => append()).toThrow(EventStoreUnavailableError);
    expect(calls.filter((call) => call === 'commit')).toHaveLength(1);
    clock.advance(2000);
    expect(() => append()).toThrow('the disk is full');
    clock.advance(2000);
    expect(append()).toMatchObject({ status: 'committed', revision: 0, position: 1 });
    expect(guard.health()).toEqual({ status: 'ok' });
    expect(append('b')).toMatchObject({ status: 'committed', position: 2 });
    expect(reader.readAll(0, 10)).toHaveLength(2);
    close();
  });

  it('whose flush failed has an unknown outcome, and is never flushed again', () => {
    const { append, guard, clock, calls, published, reader, close } = writer({ commit: [ioError] });
    expect(append()).toEqual({ status: 'unknown', cause: ioError });
    expect(guard.health()).toMatchObject({
      status: 'unavailable',
      why: expect.stringContaining('restart the process') as unknown,
    });
    clock.advance(60_000);
    expect(() => append()).toThrow(EventStoreUnavailableError);
    expect(calls.filter((call) => call === 'commit')).toHaveLength(1);
    expect(published).toEqual([]);
    expect(reader.readAll(0, 10)).toEqual([]);
    close();
  });

  it.each([
    ['while it writes', { insertEvent: [ioError] }, 'unavailable'],
    ['because the file is damaged', { insertEvent: [corrupt] }, 'read-only'],
    ['and cannot be rolled back', { insertEvent: [full], rollback: [ioError] }, 'unavailable'],
  ])('that fails %s has written nothing', (_, failures, status) => {
    const { append, guard, published, reader, close } = writer(failures);
    expect(() => append()).toThrow(EventStoreUnavailableError);
    expect(guard.health().status).toBe(status);
    expect(published).toEqual([]);
    expect(reader.readStream('a', 0).length <= (status === 'read-only' ? 0 : 1)).toBe(true);
    close();
  });

  it('that meets another writer fails for now, and the store stays healthy', () => {
    const { append, guard, close } = writer({ begin: [sqliteError(5, 'database is locked')] });
    expect(() => append()).toThrow('another program writes to the log file');
    expect(guard.health()).toEqual({ status: 'ok' });
    expect(append()).toMatchObject({ status: 'committed' });
    close();
  });
});

describe('a checkpoint', () => {
  const turn = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

  function checkpointing(failures: Error[]) {
    const calls: string[] = [];
    const logFile = {
      walFrames: jest.fn(() => 5000),
      markClosed: () => undefined,
      checkpoint: (mode: string) => {
        calls.push(mode);
        const failure = failures.shift();
        if (failure !== undefined) throw failure;
      },
    };
    const [clock, log] = [createVirtualClock(), createCollectingLog()];
    const guard = createWriteGuard(clock.monotonic);
    const checkpoints = createCheckpoints({ logFile: logFile as unknown as LogFile, guard, clock, log });
    return { checkpoints, guard, clock, log, calls, logFile };
  }

  it('runs once, in a turn of its own, when the write-ahead log is long', async () => {
    const { checkpoints, calls } = checkpointing([]);
    checkpoints.afterCommit();
    checkpoints.afterCommit();
    expect(calls).toEqual([]);
    await turn();
    expect([calls, checkpoints.count()]).toEqual([['PASSIVE'], 1]);
  });

  it('that finds no space is tried again later', async () => {
    const { checkpoints, guard, clock, log, calls } = checkpointing([full]);
    for (const waitMs of [0, 1000, 1000]) {
      clock.advance(waitMs);
      checkpoints.afterCommit();
      await turn();
    }
    expect([calls.length, checkpoints.count()]).toEqual([2, 1]);
    expect(guard.health()).toEqual({ status: 'ok' });
    expect(log.entries[0]).toMatchObject({ level: 'warn' });
  });

  it.each([
    ['a full disk', full, 'ok'],
    ['a failing disk', ioError, 'unavailable'],
  ])('that cannot count the frames for %s throws nothing at those who commit', async (_, failure, status) => {
    const { checkpoints, guard, log, calls, logFile } = checkpointing([]);
    logFile.walFrames.mockImplementationOnce(() => {
      throw failure;
    });
    checkpoints.afterCommit();
    await turn();
    expect([calls, guard.health().status, log.entries.length]).toEqual([[], status, 1]);
  });

  it('whose flush failed is not tried again, not even at the end', async () => {
    const { checkpoints, guard, calls } = checkpointing([ioError]);
    checkpoints.afterCommit();
    await turn();
    expect(guard.health().status).toBe('unavailable');
    checkpoints.last();
    expect(calls).toEqual(['PASSIVE']);
  });
});
