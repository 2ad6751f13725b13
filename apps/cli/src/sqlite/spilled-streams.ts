import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { createNameFilter } from './name-filter.js';
import type { KnownStream, KnownStreams } from '@countersign/audit';

/** Streams that a judge remembers: the latest ones in memory, all others in a private file that is deleted at the end. */
export interface SpilledStreams extends KnownStreams {
  readonly close: () => void;
}

/** @param inMemory how many streams are kept in memory at least; twice as many at most. */
export function createSpilledStreams(inMemory = 2_000): SpilledStreams {
  const recent = new Map<string, KnownStream>();
  let file: SpillFile | undefined;
  // Most streams that are asked for are new, and the file need not be asked for those.
  const spilledNames = createNameFilter();
  const remember = (stream: string, known: KnownStream): void => {
    recent.delete(stream);
    recent.set(stream, known);
    if (recent.size < inMemory * 2) return;
    file ??= openSpillFile();
    const oldest = [...recent].slice(0, inMemory);
    file.save(oldest);
    for (const [name] of oldest) {
      spilledNames.add(name);
      recent.delete(name);
    }
  };
  return {
    get: (stream) => {
      const known = recent.get(stream);
      if (known !== undefined) return known;
      const spilled = spilledNames.mayHave(stream) ? file?.get(stream) : undefined;
      if (spilled !== undefined) remember(stream, spilled);
      return spilled;
    },
    set: remember,
    close: () => {
      file?.close();
    },
  };
}

interface SpillFile {
  readonly get: (stream: string) => KnownStream | undefined;
  readonly save: (streams: readonly (readonly [string, KnownStream])[]) => void;
  readonly close: () => void;
}

function openSpillFile(): SpillFile {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
  const database = new DatabaseSync(join(folder, 'streams.db'));
  database.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -32768');
  // With its rows in the order in which they come: a tree of names that has the large texts too costs four times as much.
  database.exec('CREATE TABLE streams (name TEXT NOT NULL UNIQUE, known TEXT NOT NULL) STRICT');
  const read = database.prepare('SELECT known FROM streams WHERE name = ?');
  const write = database.prepare('INSERT OR REPLACE INTO streams VALUES (?, ?)');
  return {
    get: (stream) => {
      const known = read.get(stream)?.['known'];
      return typeof known === 'string' ? (JSON.parse(known) as KnownStream) : undefined;
    },
    save: (streams) => {
      database.exec('BEGIN');
      for (const [name, known] of streams) write.run(name, JSON.stringify(known));
      database.exec('COMMIT');
    },
    close: () => {
      database.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
