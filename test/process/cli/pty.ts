import { spawn, spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { setTimeout as sleep } from 'node:timers/promises';
import { onCleanup } from '../harness/cleanup.js';
import type { CliPlace } from './run-cli.js';
import { environmentOf } from './run-cli.js';

/** A program on a terminal of 80 columns and 24 rows. */
export interface Pty {
  /** The content of the screen: the last frame without escape sequences. */
  readonly screen: () => string;
  /** Everything that was written, as it was. */
  readonly written: () => string;
  /** Waits until the screen shows the text. */
  readonly sees: (text: string | RegExp) => Promise<void>;
  /** Presses keys one by one, like a person. */
  readonly press: (...keys: readonly string[]) => Promise<void>;
  readonly ended: Promise<number | null>;
}

const home = '\u001b[H';
const withinMs = 100_000;
/** The wait ends after 2 s, because some keys change nothing on the screen. */
const redrawWaitsMax = 50;

/** Starts a program on a pseudo-terminal. */
export function startInPty(place: CliPlace, command: readonly string[]): Pty {
  const line = `stty rows 24 cols 80; exec ${command.map(quoted).join(' ')}`;
  const [program, ...args] = ptyCommand(line);
  const child = spawn(program, args, { cwd: place.folder, env: { ...environmentOf(place), TERM: 'xterm-256color' } });
  let written = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => (written += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  onCleanup(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const screen = (): string => stripVTControlCharacters(written.slice(written.lastIndexOf(home) + home.length));
  return {
    screen,
    written: () => written,
    sees: async (text) => {
      const giveUpAt = performance.now() + withinMs;
      while (typeof text === 'string' ? !screen().includes(text) : !text.test(screen())) {
        if (performance.now() > giveUpAt)
          throw new Error(`waited in vain for "${String(text)}"; the screen shows:\n${screen()}`);
        await sleep(20);
      }
    },
    press: async (...keys) => {
      for (const key of keys) {
        const before = written.length;
        child.stdin.write(key);
        await sleep(40);
        // Two keys that a busy program reads at once are a paste.
        for (let waits = 0; written.length === before && waits < redrawWaitsMax; waits += 1) await sleep(40);
      }
    },
    ended,
  };
}

function quoted(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}

/** A test that cannot have a terminal fails: it is not passed over. */
function ptyCommand(line: string): readonly [string, ...string[]] {
  if (process.platform === 'darwin') return ['script', '-q', '/dev/null', 'sh', '-c', line];
  if (succeeds('script', ['--version'])) return ['script', '-qefc', line, '/dev/null'];
  if (succeeds('python3', ['--version'])) {
    const code = 'import os, pty, sys; sys.exit(os.waitstatus_to_exitcode(pty.spawn(["sh", "-c", sys.argv[1]])))';
    return ['python3', '-c', code, line];
  }
  throw new Error('a terminal for this test is made by script (util-linux) or python3: install one of them');
}

function succeeds(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: 'ignore' }).status === 0;
}
