import { PassThrough } from 'node:stream';
import { stripVTControlCharacters } from 'node:util';
import type { Terminal } from '../terminal.js';

/** A terminal that a test controls. */
export interface FakeTerminal extends Terminal {
  /** All that was written to stdout and stderr so far. */
  readonly out: () => string;
  readonly err: () => string;
  /** The content of the screen: the last frame without escape sequences. */
  readonly screen: () => string;
  readonly type: (text: string) => void;
  readonly interrupt: () => void;
}

/** The differences between a fake terminal and a pipe. */
export interface FakeTerminalOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly isTty?: boolean;
  readonly columns?: number;
  readonly rows?: number;
  readonly input?: string;
  readonly now?: () => number;
}

const home = '\u001b[H';

/** Streams that remember what was written, and a clock that the test chooses. */
export function createFakeTerminal(options: FakeTerminalOptions = {}): FakeTerminal {
  const { env = {}, isTty = false, columns = 80, rows = 24, input, now = () => Date.now() } = options;
  const stdin = Object.assign(new PassThrough(), { isTTY: isTty, setRawMode: () => undefined });
  if (input !== undefined) stdin.end(input);
  const written = { out: '', err: '' };
  const output = (name: 'out' | 'err') => {
    const stream = Object.assign(new PassThrough(), { isTTY: isTty, columns, rows });
    stream.on('data', (chunk: Buffer) => (written[name] += chunk.toString('utf8')));
    return stream as unknown as NodeJS.WriteStream;
  };
  const abort = new AbortController();
  return {
    env,
    stdin: stdin as unknown as NodeJS.ReadStream,
    stdout: output('out'),
    stderr: output('err'),
    now,
    interrupted: abort.signal,
    holdingInterrupts: (work) => work(),
    out: () => written.out,
    err: () => written.err,
    screen: () => stripVTControlCharacters(written.out.slice(written.out.lastIndexOf(home) + home.length)),
    type: (text) => stdin.write(text),
    interrupt: () => abort.abort(),
  };
}

/** Resolves as soon as `look` gives back true; rejects with what it looked like after 100 s. */
export async function until(look: () => boolean, describe: () => string = () => ''): Promise<void> {
  const startedAt = Date.now();
  while (!look()) {
    if (Date.now() - startedAt > 100_000) throw new Error(`waited in vain:\n${describe()}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
