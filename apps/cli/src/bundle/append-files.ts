import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files of a folder that grow at their ends, together. */
export interface AppendFiles {
  readonly append: (path: string, text: string) => void;
  /** Writes what was appended to the disk, and returns how long each file is. */
  readonly sync: () => Readonly<Record<string, number>>;
  readonly close: () => void;
}

/** A file is written when so many bytes wait for it. */
const waitingMax = 256 * 1024;
/** A UTF-16 unit takes at most three bytes of UTF-8. */
const bytesPerUnitMax = 3;

const nothing = Buffer.alloc(0);

interface OpenFile {
  fd: number | undefined;
  length: number;
  waiting: Buffer;
  waitingLength: number;
}

/** Is told how long a file is, each time that it is written. */
export type OnWritten = (path: string, length: number) => void;

/**
 * Continues files at the lengths that they had at the last `sync`; what came after it is cut off. A file without a length
 * begins empty. @throws when a file is shorter than it was
 */
export function openAppendFiles(
  folder: string,
  lengths: Readonly<Record<string, number>>,
  onWritten: OnWritten = () => undefined,
): AppendFiles {
  const files = new Map<string, OpenFile>();
  for (const [path, length] of Object.entries(lengths)) {
    if (statSync(join(folder, path)).size < length) throw new Error(`${path} is shorter than it was`);
    files.set(path, newFile(length));
  }
  const fileOf = (path: string): OpenFile => {
    const known = files.get(path);
    if (known !== undefined) return known;
    const created = newFile(0);
    files.set(path, created);
    return created;
  };
  const flush = (path: string, file: OpenFile): void => {
    write(join(folder, path), file);
    onWritten(path, file.length);
  };
  return {
    append: (path, text) => {
      const file = fileOf(path);
      const most = text.length * bytesPerUnitMax;
      if (file.waitingLength + most > file.waiting.length) {
        if (file.waitingLength > 0) flush(path, file);
        makeRoom(file, most);
      }
      file.waitingLength += file.waiting.write(text, file.waitingLength);
    },
    sync: () => {
      for (const [path, file] of files) {
        if (file.waitingLength > 0 || file.length === 0) flush(path, file);
        closeOf(file);
        // Most files are full by now.
        file.waiting = nothing;
      }
      return Object.fromEntries([...files].map(([path, { length }]) => [path, length]));
    },
    close: () => {
      for (const file of files.values()) closeOf(file);
    },
  };
}

function newFile(length: number): OpenFile {
  return { fd: undefined, length, waiting: nothing, waitingLength: 0 };
}

/** Takes a larger buffer for a text that is longer than it. */
function makeRoom(file: OpenFile, bytes: number): void {
  if (file.waiting.length < bytes) file.waiting = Buffer.allocUnsafeSlow(Math.max(waitingMax, bytes));
}

function write(path: string, file: OpenFile): void {
  file.fd ??= openAt(path, file.length);
  const { length, waiting, waitingLength } = file;
  let written = 0;
  while (written < waitingLength) {
    written += writeSync(file.fd, waiting, written, waitingLength - written, length + written);
  }
  file.length += waitingLength;
  file.waitingLength = 0;
}

function openAt(path: string, length: number): number {
  mkdirSync(dirname(path), { recursive: true });
  const fd = openSync(path, length === 0 ? 'w' : 'r+');
  ftruncateSync(fd, length);
  return fd;
}

function closeOf(file: OpenFile): void {
  if (file.fd === undefined) return;
  fsyncSync(file.fd);
  closeSync(file.fd);
  file.fd = undefined;
}
