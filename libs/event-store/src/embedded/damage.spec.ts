import { jest } from '@jest/globals';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { LogEvent, NewEvent } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { EventStoreDamagedError, noStream } from '../event-store.js';
import { openDatabase } from './database.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';
import { createLogFile } from './log-file.js';
import { createLogReader, reading } from './log-reader.js';
import { createLeafHash } from './stored-event.js';
import { createVerification } from './verification.js';

/** The files of a log as a crash leaves them, and what was acknowledged by then. */
interface Image {
  readonly main: Buffer;
  readonly wal: Buffer;
  readonly events: readonly LogEvent[];
  /** The number of events in the log after each commit. */
  readonly commits: readonly number[];
  /** The length of the write-ahead log after each commit. */
  readonly walLengths: readonly number[];
}

/** The nightly form tries every place. A step of 3 meets each bit of a byte, and each field of a frame, in turn. */
const step = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1' ? 1 : 3;

type Outcome = { readonly status: 'opened'; readonly events: readonly LogEvent[] } | { readonly status: 'refused' };

// Thousands of logs are opened.
jest.setTimeout(300_000);

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'countersign-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const mainFile = (): string => join(folder, 'events.db');
const walFile = (): string => join(folder, 'events.db-wal');
const options = () => ({ folder, log: createSilentLog(), clock: systemClock });

function put(main: Buffer, wal: Buffer): void {
  for (const name of ['events.db', 'events.db-wal', 'events.db-shm']) rmSync(join(folder, name), { force: true });
  writeFileSync(mainFile(), main);
  if (wal.length > 0) writeFileSync(walFile(), wal);
}

function smallEvent(reason: string): NewEvent {
  const metadata = { tenant: 't', callId: null, runId: null, schemaVersion: 1, commandId: 'c' };
  return {
    eventId: reason,
    type: 'ExecutionLapsed',
    data: { attempt: 1, lapsedAt: '2030-01-01T00:00:00.000Z' },
    metadata,
  };
}

/** A log of several commits in the smallest pages there are, so that every byte of it can be tried. */
async function makeImage(): Promise<Image> {
  put(Buffer.alloc(0), Buffer.alloc(0));
  const empty = new DatabaseSync(mainFile());
  empty.exec('PRAGMA page_size = 512; PRAGMA journal_mode = WAL');
  empty.close();
  const store = await openEmbeddedEventStore(options());
  const [commits, walLengths]: [number[], number[]] = [[], []];
  const append = async (stream: string, expectedRevision: number, reasons: readonly string[]): Promise<void> => {
    await store.append(
      stream,
      expectedRevision,
      reasons.map((reason) => smallEvent(reason)),
    );
    commits.push(await store.head());
    walLengths.push(readFileSync(walFile()).length);
  };
  await append('a', noStream, ['one']);
  await append('b', noStream, ['two', 'three']);
  await append('a', 0, ['four']);
  const image = { main: readFileSync(mainFile()), wal: readFileSync(walFile()), events: await store.readAll(0, 100) };
  await store.close();
  return { ...image, commits, walLengths };
}

/** Opens the log and reads it in every way there is. */
function tryLog(): Outcome {
  let database: DatabaseSync | undefined;
  try {
    const opened = openDatabase(mainFile());
    database = opened.database;
    const [log, leafHash] = [reading(() => createLogFile(opened.database)), createLeafHash()];
    createVerification(log, leafHash, systemClock).verifyTail(1000);
    const reader = createLogReader(log, leafHash);
    const events = reader.readAll(0, 100);
    const byStream = ['a', 'b'].flatMap((stream) => reader.readStream(stream, 0));
    return isSame(
      byStream.toSorted((one, other) => one.position - other.position),
      events,
    )
      ? { status: 'opened', events }
      : { status: 'opened', events: byStream };
  } catch (error) {
    if (!(error instanceof EventStoreDamagedError)) throw error;
    expect(error.message).toMatch(/damaged|missing|restore|not an event store|not what/);
    return { status: 'refused' };
  } finally {
    database?.close();
  }
}

/** A matcher on each of ten thousand outcomes would be slower than computing them. */
const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

function flipped(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ (1 << (at % 8));
  return copy;
}

/** The lengths that the write-ahead log is cut to, among them the end of each commit and the byte before it. */
function lengthsOf({ wal, walLengths }: Image): readonly number[] {
  const steps = Array.from({ length: Math.ceil(wal.length / step) }, (_, index) => index * step);
  return [...new Set([...steps, ...walLengths.flatMap((length) => [length - 1, length])])];
}

describe('a damaged log', () => {
  let image: Image;
  beforeAll(async () => {
    image = await makeImage();
  });

  it('keeps every commit that is whole when the write-ahead log is cut, at any byte', () => {
    const wrong: unknown[] = [];
    for (const length of lengthsOf(image)) {
      put(image.main, image.wal.subarray(0, length));
      const whole = image.walLengths.filter((walLength) => walLength <= length).length;
      const outcome = tryLog();
      const expected = { status: 'opened', events: image.events.slice(0, whole === 0 ? 0 : image.commits[whole - 1]) };
      if (!isSame(outcome, expected)) wrong.push({ length, outcome, expected });
    }
    expect(wrong).toEqual([]);
  });

  it('opens whole, or short of its last commit alone, or not at all, whichever byte of the write-ahead log is flipped', () => {
    const wrong: unknown[] = [];
    const outcomes = new Set<string>();
    for (let at = 0; at < image.wal.length; at += step) {
      put(image.main, flipped(image.wal, at));
      const outcome = tryLog();
      const kept = outcome.status === 'opened' ? outcome.events.length : image.events.length;
      const isHonest = outcome.status === 'refused' || isSame(outcome.events, image.events.slice(0, kept));
      if (!isHonest || kept < (image.commits.at(-2) ?? 0)) wrong.push({ at, outcome });
      outcomes.add(outcome.status === 'opened' ? `opened with ${kept}` : 'refused');
    }
    expect(wrong).toEqual([]);
    // The sweep must have met both, or it proves nothing.
    expect([...outcomes].toSorted()).toEqual(['opened with 3', 'refused']);
  });

  it('opens whole or not at all, whichever byte of the main file is flipped', async () => {
    put(image.main, image.wal);
    await (await openEmbeddedEventStore(options())).close();
    const main = readFileSync(mainFile());
    const wrong: unknown[] = [];
    const outcomes = new Set<string>();
    for (let at = 0; at < main.length; at += step) {
      put(flipped(main, at), Buffer.alloc(0));
      const outcome = tryLog();
      if (outcome.status === 'opened' && !isSame(outcome.events, image.events)) wrong.push({ at, outcome });
      outcomes.add(outcome.status);
    }
    expect(wrong).toEqual([]);
    expect([...outcomes].toSorted()).toEqual(['opened', 'refused']);
  });

  it('is not opened when the main file is cut, or missing next to its write-ahead log', async () => {
    put(image.main, image.wal);
    await (await openEmbeddedEventStore(options())).close();
    const main = readFileSync(mainFile());
    const wrong: unknown[] = [];
    for (let length = 1; length < main.length; length += step) {
      put(main.subarray(0, length), Buffer.alloc(0));
      // SQLite reads zeros where its last page is cut: when zeros are all that was cut off, nothing is missing.
      const isWhole = main.subarray(length).every((byte) => byte === 0);
      const outcome = tryLog();
      if (outcome.status !== 'refused' && !(isWhole && isSame(outcome, { status: 'opened', events: image.events })))
        wrong.push(length);
    }
    expect(wrong).toEqual([]);
    put(Buffer.alloc(0), image.wal);
    expect(tryLog()).toEqual({ status: 'refused' });
  });

  it('is not taken for a new one when its table of contents is gone', async () => {
    put(image.main, image.wal);
    await (await openEmbeddedEventStore(options())).close();
    const main = readFileSync(mainFile());
    // The number of cells on page 1, after the 100 bytes of the file's header.
    main.writeUInt16BE(0, 103);
    put(main, Buffer.alloc(0));
    expect(tryLog()).toEqual({ status: 'refused' });
    expect(readFileSync(mainFile())).toEqual(main);
  });

  it('is refused with the file, the place and what to do, and the folder is free again', async () => {
    put(image.main, flipped(image.wal, (image.walLengths[0] ?? 0) - 10));
    const opening = openEmbeddedEventStore(options());
    await expect(opening).rejects.toThrow(EventStoreDamagedError);
    await expect(opening).rejects.toThrow(
      /events\.db-wal is damaged at offset \d+, .*restore the folder from a backup/,
    );
    put(image.main, image.wal);
    const store = await openEmbeddedEventStore(options());
    expect(await store.readAll(0, 100)).toEqual(image.events);
    await store.close();
  });
});
