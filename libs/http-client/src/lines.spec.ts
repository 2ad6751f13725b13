import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { eachLine, linesOf } from './lines.js';

const streamOf = (chunks: readonly (string | Buffer)[]): Readable => Readable.from(chunks, { objectMode: false });

async function taken(...chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const stream = streamOf(chunks);
  const lines: string[] = [];
  eachLine(stream, (line) => lines.push(line));
  await once(stream, 'end');
  return lines;
}

async function iterated(...chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of linesOf(streamOf(chunks))) lines.push(line);
  return lines;
}

describe.each([
  { name: 'eachLine', read: taken },
  { name: 'linesOf', read: iterated },
])('$name', ({ read }) => {
  it('keeps a line with the separators of Unicode whole', async () => {
    const line = JSON.stringify({ text: 'a\u2028b\u2029c' });
    expect(await read(`${line}\n${line}\n`)).toEqual([line, line]);
  });

  it('joins a line that comes in parts, and takes the last one without its end', async () => {
    const [head, tail] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    expect(await read('{"a":', '1}\n', head, tail, '\n\nlast')).toEqual(['{"a":1}', 'é', '', 'last']);
  });
});
