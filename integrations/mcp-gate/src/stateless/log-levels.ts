import { logLevels } from './protocol.js';

/** The levels of log messages that open requests want. */
export interface LogLevels {
  readonly want: (level: string | undefined) => void;
  /** Returns whether a request with this level gets a message of that one. */
  readonly includes: (wanted: string | undefined, level: unknown) => boolean;
}

/** The server sends what the most talkative request wants, and each request gets its part. */
export function createLogLevels(set: (level: string) => void): LogLevels {
  let lowest: number | undefined;
  return {
    want: (level) => {
      const now = level === undefined ? -1 : logLevels.indexOf(level);
      if (now < 0 || now >= (lowest ?? Infinity)) return;
      lowest = now;
      set(logLevels[now] ?? 'info');
    },
    includes: (wanted, level) => wanted !== undefined && logLevels.indexOf(String(level)) >= logLevels.indexOf(wanted),
  };
}
