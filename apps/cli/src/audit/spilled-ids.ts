import { hash } from 'node:crypto';
import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KnownIds, RepeatedId } from '@countersign/audit';

/** The ids of a log: the latest ones in memory, all others in a private file that is deleted at the end. */
export interface SpilledIds extends KnownIds {
  readonly close: () => void;
}

/** A record: what the id is, its 16 bytes, and the index of the event. */
const idBytes = 1 + 16;
const recordBytes = idBytes + 8;
const chunkBytes = recordBytes * 16_384;
const [isUuid, isHash] = ['\u0000', '\u0001'] as const;

/**
 * Compares the ids at the end: it sorts their first 64 bits, in as many passes over the file as it takes to have few of them in
 * memory, and then looks at those alone that are there twice.
 * @param perPass how many ids one pass has in memory, about.
 */
export function createSpilledIds(perPass = 1_048_576): SpilledIds {
  const chunk = Buffer.alloc(chunkBytes);
  let [used, written] = [0, 0];
  let file: IdsFile | undefined;
  const chunks = function* (): Iterable<Buffer> {
    const read = Buffer.alloc(chunkBytes);
    for (let start = 0; start < written; start += chunkBytes) {
      file?.read(read, start);
      yield read;
    }
    yield chunk.subarray(0, used);
  };
  return {
    add: (eventId, index) => {
      writeId(chunk, used, eventId);
      chunk.writeDoubleLE(index, used + idBytes);
      used += recordBytes;
      if (used < chunkBytes) return;
      file ??= openIdsFile();
      file.write(chunk);
      [used, written] = [0, written + chunkBytes];
    },
    repeated: () => {
      const passes = Math.ceil((written + used) / recordBytes / perPass);
      const starts = new Set<number>();
      for (let pass = 0; pass < passes; pass += 1) {
        for (const start of repeatedStarts(chunks(), passes, pass)) starts.add(start);
      }
      return starts.size === 0 ? [] : repeatedOf(chunks(), starts);
    },
    close: () => {
      file?.close();
    },
  };
}

/** The starts of the ids that begin with the same 64 bits as another one. A pass looks at one part of them. */
function repeatedStarts(chunks: Iterable<Buffer>, passes: number, pass: number): readonly number[] {
  let words = new Uint32Array(2 * 65_536);
  let count = 0;
  for (const bytes of chunks) {
    while (count + (2 * bytes.length) / recordBytes > words.length) words = grown(words);
    count = gather(bytes, passes, pass, words, count);
  }
  new BigUint64Array(words.buffer, 0, count / 2).sort();
  const starts: number[] = [];
  for (let at = 2; at < count; at += 2) {
    const isRepeated = words[at] === words[at - 2] && words[at + 1] === words[at - 1];
    if (isRepeated) starts.push(startOf(words[at], words[at + 1]));
  }
  return starts;
}

/** A loop of its own, outside of a generator, makes no garbage. Returns how many words there are then. */
function gather(bytes: Buffer, passes: number, pass: number, words: Uint32Array, count: number): number {
  let end = count;
  for (let at = 1; at < bytes.length; at += recordBytes) {
    if ((bytes[at] ?? 0) % passes !== pass) continue;
    words[end] = bytes.readUInt32LE(at);
    words[end + 1] = bytes.readUInt32LE(at + 4);
    end += 2;
  }
  return end;
}

function grown(words: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(words.length * 2);
  larger.set(words);
  return larger;
}

/** The first 53 bits of an id, as an integer. */
function startOf(word = 0, next = 0): number {
  return word * 2 ** 21 + (next >>> 11);
}

/** The ids that several events have, among those that begin with one of `starts`. */
function* repeatedOf(chunks: Iterable<Buffer>, starts: ReadonlySet<number>): Iterable<RepeatedId> {
  const known = new Map<string, number>();
  for (const bytes of chunks) {
    for (let at = 0; at < bytes.length; at += recordBytes) {
      if (!starts.has(startOf(bytes.readUInt32LE(at + 1), bytes.readUInt32LE(at + 5)))) continue;
      const id = bytes.toString('latin1', at, at + idBytes);
      const index = bytes.readDoubleLE(at + idBytes);
      const first = known.get(id);
      if (first === undefined) known.set(id, index);
      else yield { eventId: uuidOf(id), index, first };
    }
  }
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** An id that is no UUID is kept as a hash. */
function writeId(bytes: Buffer, at: number, eventId: string): void {
  const hex = uuid.test(eventId) ? eventId.replaceAll('-', '') : undefined;
  bytes.write(hex === undefined ? isHash : isUuid, at, 'latin1');
  bytes.write(hex ?? hash('sha256', eventId, 'hex').slice(0, 32), at + 1, 'hex');
}

function uuidOf(id: string): string | null {
  if (id.startsWith(isHash)) return null;
  const hex = Buffer.from(id.slice(1), 'latin1').toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}

interface IdsFile {
  readonly write: (chunk: Buffer) => void;
  readonly read: (chunk: Buffer, start: number) => void;
  readonly close: () => void;
}

function openIdsFile(): IdsFile {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-verify-'));
  const fd = openSync(join(folder, 'ids'), 'wx+', 0o600);
  return {
    write: (chunk) => {
      for (let done = 0; done < chunk.length;) done += writeSync(fd, chunk, done);
    },
    read: (chunk, start) => {
      for (let done = 0; done < chunk.length;) {
        const count = readSync(fd, chunk, done, chunk.length - done, start + done);
        if (count === 0) throw new Error(`the file of ids in ${folder} has become shorter`);
        done += count;
      }
    },
    close: () => {
      closeSync(fd);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
