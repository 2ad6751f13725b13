import { scopedFields } from './log-scope.js';
import type { Log, LogFields, LogLevel } from './log.js';

/** One collected line. */
export interface LogEntry {
  readonly level: Exclude<LogLevel, 'silent'>;
  readonly message: string;
  readonly fields: LogFields;
}

/** A log that keeps its lines for a test to look at. */
export interface CollectingLog extends Log {
  /** Every line so far, those of the children included. */
  readonly entries: readonly LogEntry[];
}

/** A log for tests: silent, and it remembers. */
export function createCollectingLog(): CollectingLog {
  const entries: LogEntry[] = [];
  const at = (inherited: LogFields): CollectingLog => {
    const collect =
      (level: LogEntry['level']) =>
      (fields: LogFields, message: string): void => {
        entries.push({ level, message, fields: { ...inherited, ...scopedFields(), ...fields } });
      };
    return {
      entries,
      debug: collect('debug'),
      info: collect('info'),
      warn: collect('warn'),
      error: collect('error'),
      child: (fields) => at({ ...inherited, ...fields }),
    };
  };
  return at({});
}

/** A log that drops every line. */
export function createSilentLog(): Log {
  const drop = (): void => undefined;
  const log: Log = { debug: drop, info: drop, warn: drop, error: drop, child: () => log };
  return log;
}
