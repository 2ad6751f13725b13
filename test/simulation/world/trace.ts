import { hash } from 'node:crypto';
import type { Clock } from '@countersign/runtime';

/** The trace in the order of virtual time: one line per event, for people. */
export interface Trace {
  readonly add: (who: string, what: string) => void;
  readonly lines: () => readonly string[];
  /** Two runs of one seed have the same. */
  readonly digest: () => string;
}

/** A trace whose lines begin with the virtual time in seconds. */
export function createTrace(clock: Clock): Trace {
  const lines: string[] = [];
  return {
    add: (who, what) => {
      lines.push(`${(clock.monotonic() / 1000).toFixed(3).padStart(9)}  ${who.padEnd(14)} ${what}`);
    },
    lines: () => lines,
    digest: () => hash('sha256', lines.join('\n'), 'hex'),
  };
}

/** An id short enough for a line. */
export function short(id: string): string {
  return id.replace(/^(tc|apr)_/, '').slice(0, 6);
}
