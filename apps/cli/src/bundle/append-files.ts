import { closeSync, fsyncSync, ftruncateSync, mkdirSync, openSync, statSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Files of a folder that grow at their ends, together. */
export interface AppendFiles {
  readonly append: (path: string, text: string) => void;
  /** Writes what was appended to the disk, and returns how long each file is. */
  readonly sync: () => Readonly<Record<string, number>>;
  readonly close: () => void;
}

/** A file is written when so many characters wait for it. */
const waitingMax = 256 * 1024;

interface OpenFile {
  fd: number | undefined;
  length: number;
  waiting: string[];
  waitingLength: number;
}

/**
 * Continues files at the lengths that they had at the last `sync`; what came after it is cut off. A file without a length
 * begins empty. @throws when a file is shorter than it was
 */
export function openAppendFiles(folder: string, lengths: Readonly<Record<string, number>>): AppendFiles {
  const files = new Map<string, OpenFile>();
  for (const [path, length] of Object.entries(lengths)) {
    if (statSync(join(folder, path)).size < length) throw new Error(`${path} is shorter than it was`);
    files.set(path, { fd: undefined, length, waiting: [], waitingLength: 0 });
  }
  const fileOf = (path: string): OpenFile => {
    const known = files.get(path);
    if (known !== undefined) return known;
    const created = { fd: undefined, length: 0, waiting: [], waitingLength: 0 };
    files.set(path, created);
    return created;
  };
  return {
    append: (path, text) => {
      const file = fileOf(path);
      file.waiting.push(text);
      file.waitingLength += text.length;
      if (file.waitingLength >= waitingMax) write(join(folder, path), file);
    },
    sync: () => {
      for (const [path, file] of files) {
        if (file.waiting.length > 0) write(join(folder, path), file);
        closeOf(file);
      }
      return Object.fromEntries([...files].map(([path, { length }]) => [path, length]));
    },
    close: () => {
      for (const file of files.values()) closeOf(file);
    },
  };
}

function write(path: string, file: OpenFile): void {
  file.fd ??= openAt(path, file.length);
  const bytes = Buffer.from(file.waiting.join(''));
  let written = 0;
  while (written < bytes.length) written += writeSync(file.fd, bytes, written, undefined, file.length + written);
  file.length += bytes.length;
  file.waiting = [];
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
