import { describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { Readable } from 'node:stream';
import { eachLine } from './each-line.js';

async function linesOf(...chunks: readonly (string | Buffer)[]): Promise<string[]> {
  const stream = Readable.from(chunks, { objectMode: false });
  const lines: string[] = [];
  eachLine(stream, (line) => lines.push(line));
  await once(stream, 'end');
  return lines;
}

describe('eachLine', () => {
  it('keeps a line with the separators of Unicode whole', async () => {
    const line = JSON.stringify({ text: 'a\u2028b\u2029c' });
    expect(await linesOf(`${line}\n${line}\n`)).toEqual([line, line]);
  });

  it('joins a line that comes in parts, and takes the last one without its end', async () => {
    const [head, tail] = [Buffer.from('é').subarray(0, 1), Buffer.from('é').subarray(1)];
    expect(await linesOf('{"a":', '1}\n', head, tail, '\n\nlast')).toEqual(['{"a":1}', 'é', '', 'last']);
  });
});
