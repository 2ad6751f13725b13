/** A `Readable` of Node, as far as it is read here: this package runs in browsers too. */
export interface TextStream {
  readonly setEncoding: (encoding: 'utf8') => TextStream & AsyncIterable<unknown>;
  readonly on: (event: 'data', listener: (text: string) => void) => unknown;
  readonly once: (event: 'end', listener: () => void) => unknown;
}

/**
 * Gives each line of a stream to `take`. A line ends with a line feed alone: `node:readline` splits also at U+2028 and
 * U+2029, which may stand in a JSON text as they are.
 */
export function eachLine(stream: TextStream, take: (line: string) => void): void {
  const lines = createLines();
  stream.setEncoding('utf8').on('data', (text) => lines.add(text).forEach(take));
  stream.once('end', () => lines.rest().forEach(take));
}

/** The lines of a stream, split in the same way. */
export async function* linesOf(stream: TextStream): AsyncGenerator<string> {
  const lines = createLines();
  for await (const text of stream.setEncoding('utf8')) yield* lines.add(text as string);
  yield* lines.rest();
}

/** Splits a text that comes in pieces: `add` returns the lines that a piece completes, `rest` what has no end. */
function createLines() {
  let begun: string[] = [];
  return {
    add: (text: string): readonly string[] => {
      const [first = '', ...more] = text.split('\n');
      begun.push(first);
      return more.map((next) => {
        const line = begun.join('');
        begun = [next];
        return line;
      });
    },
    rest: (): readonly string[] => {
      const last = begun.join('');
      return last === '' ? [] : [last];
    },
  };
}
