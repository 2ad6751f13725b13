import type { Output } from '../invocation.js';
import type { Terminal } from '../terminal.js';

/** One line on a terminal that tells how far a command is. */
export interface Progress {
  readonly show: (count: number, done: number) => void;
  readonly clear: () => void;
}

const everyMs = 250;

/** A place for the line. Its command needs no more of the outside world. */
export type ProgressPlace = Pick<Output, 'json'> & { readonly terminal: Pick<Terminal, 'stderr' | 'now'> };

/**
 * @param total all that there is to do, in the unit of `done`.
 * @param what is counted, in the plural.
 */
export function createProgress(
  { terminal: { stderr, now }, json }: ProgressPlace,
  total: number,
  what: string,
): Progress {
  const isShown = stderr.isTTY && !json;
  const startedAt = now();
  let shownAt = startedAt;
  return {
    show: (count, done) => {
      if (!isShown || count % 256 !== 0 || now() - shownAt < everyMs) return;
      shownAt = now();
      stderr.write(`\r\u001b[2K${wordsOf({ count, what, done, total, seconds: (shownAt - startedAt) / 1000 })}`);
    },
    clear: () => {
      if (isShown) stderr.write('\r\u001b[2K');
    },
  };
}

/** How far a command is after some seconds. */
interface HowFar {
  readonly count: number;
  readonly what: string;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
}

function wordsOf({ count, what, done, total, seconds }: HowFar): string {
  const numbers = new Intl.NumberFormat('en');
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
  const left = done === 0 ? '' : `, ${timeOf((seconds / done) * (total - done))} left`;
  return `${String(percent)} %  ${numbers.format(count)} ${what}, ${numbers.format(Math.round(count / seconds))}/s${left}`;
}

function timeOf(seconds: number): string {
  return seconds < 90 ? `${String(Math.ceil(seconds))} s` : `${String(Math.ceil(seconds / 60))} min`;
}
