import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';

/**
 * Flips one bit of a file, in the middle of the last occurrence of a text. Returns a function that flips it back.
 * @throws Error when the text is not there.
 */
export function flipBitIn(file: string, text: string): () => void {
  const bytes = readFileSync(file);
  const start = bytes.lastIndexOf(text);
  if (start < 0) throw new Error(`${file} does not hold ${text}`);
  const at = start + (text.length >> 1);
  const flip = (): void => {
    const descriptor = openSync(file, 'r+');
    try {
      writeSync(descriptor, Buffer.of((readFileSync(file)[at] ?? 0) ^ 1), 0, 1, at);
    } finally {
      closeSync(descriptor);
    }
  };
  flip();
  return flip;
}
