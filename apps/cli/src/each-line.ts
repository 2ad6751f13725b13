import type { Readable } from 'node:stream';

/**
 * Gives each line of a stream to `take`. A line ends with a line feed alone: `node:readline` splits also at U+2028 and
 * U+2029, which may stand in a JSON text as they are.
 */
export function eachLine(stream: Readable, take: (line: string) => void): void {
  let begun: string[] = [];
  stream.setEncoding('utf8').on('data', (text: string) => {
    const [first = '', ...more] = text.split('\n');
    begun.push(first);
    for (const next of more) {
      take(begun.join(''));
      begun = [next];
    }
  });
  stream.once('end', () => {
    const last = begun.join('');
    if (last !== '') take(last);
  });
}
