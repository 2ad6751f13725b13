import type { Output } from '../invocation.js';

/** One line on a terminal that tells how far a verification is. */
export interface VerifyProgress {
  readonly show: (events: number, done: number) => void;
  readonly clear: () => void;
}

const everyMs = 250;

/** @param total all that there is to read, in the unit of `done`. */
export function createVerifyProgress({ terminal: { stderr, now }, json }: Output, total: number): VerifyProgress {
  const isShown = stderr.isTTY && !json;
  const startedAt = now();
  let shownAt = startedAt;
  return {
    show: (events, done) => {
      if (!isShown || events % 256 !== 0 || now() - shownAt < everyMs) return;
      shownAt = now();
      stderr.write(`\r\u001b[2K${wordsOf({ events, done, total, seconds: (shownAt - startedAt) / 1000 })}`);
    },
    clear: () => {
      if (isShown) stderr.write('\r\u001b[2K');
    },
  };
}

/** How far a verification is after some seconds. */
interface Progress {
  readonly events: number;
  readonly done: number;
  readonly total: number;
  readonly seconds: number;
}

function wordsOf({ events, done, total, seconds }: Progress): string {
  const numbers = new Intl.NumberFormat('en');
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
  const left = done === 0 ? '' : `, ${timeOf((seconds / done) * (total - done))} left`;
  return `${String(percent)} %  ${numbers.format(events)} events, ${numbers.format(Math.round(events / seconds))}/s${left}`;
}

function timeOf(seconds: number): string {
  return seconds < 90 ? `${String(Math.ceil(seconds))} s` : `${String(Math.ceil(seconds / 60))} min`;
}
