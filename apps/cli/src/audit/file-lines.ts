import { isUtf8 } from 'node:buffer';
import { closeSync, openSync, readSync } from 'node:fs';

/** The lines of a file, one after the other. */
export interface FileLines {
  /** Returns the next line without its end. Undefined at the end of the file. */
  readonly next: () => FileLine | undefined;
  readonly close: () => void;
}

/** A line, with the bytes that it takes in the file. */
export interface FileLine {
  /** Undefined for a line that is no UTF-8, or too long to be read. */
  readonly text: string | undefined;
  readonly bytes: number;
  /** True if a newline ends it. False: it is the last line, and it was cut off. */
  readonly isWhole: boolean;
}

const chunkBytes = 1024 * 1024;
/** An event weighs 1 MiB at most. Attack: a line without end fills the memory. */
const lineBytesMax = 16 * 1024 * 1024;
const newline = 0x0a;

/**
 * Reads the lines of a file. Only a line feed ends one: Node's own reader also splits at U+2028, which JSON texts may have.
 * @param onBytes is called with all bytes in their order, before the lines in them are returned.
 */
export function openLines(file: string, onBytes?: (bytes: Uint8Array) => void): FileLines {
  const fd = openSync(file, 'r');
  let [rest, at, isEnd] = [Buffer.alloc(0), 0, false];
  const readMore = (): void => {
    const chunk = Buffer.allocUnsafe(chunkBytes);
    const count = readSync(fd, chunk, 0, chunkBytes, null);
    isEnd = count === 0;
    const read = chunk.subarray(0, count);
    if (count > 0) onBytes?.(read);
    rest = at === rest.length ? read : Buffer.concat([rest.subarray(at), read]);
    at = 0;
  };
  /** Skips a line that is too long. Returns its bytes. */
  const skipped = (): number => {
    let bytes = 0;
    for (;;) {
      const end = rest.indexOf(newline, at);
      if (end !== -1 || isEnd) {
        bytes += (end === -1 ? rest.length : end + 1) - at;
        at = end === -1 ? rest.length : end + 1;
        return bytes;
      }
      bytes += rest.length - at;
      at = rest.length;
      readMore();
    }
  };
  const next = (): FileLine | undefined => {
    let searched = at;
    for (;;) {
      const end = rest.indexOf(newline, searched);
      if (end !== -1 || isEnd) {
        const line = rest.subarray(at, end === -1 ? rest.length : end);
        if (end === -1 && line.length === 0) return undefined;
        at = end === -1 ? rest.length : end + 1;
        return { text: textOf(line), bytes: line.length + (end === -1 ? 0 : 1), isWhole: end !== -1 };
      }
      searched = rest.length - at;
      if (searched > lineBytesMax) return { text: undefined, bytes: skipped(), isWhole: true };
      readMore();
    }
  };
  return {
    next,
    close: () => {
      closeSync(fd);
    },
  };
}

function textOf(line: Buffer): string | undefined {
  return isUtf8(line) ? line.toString('utf8') : undefined;
}
