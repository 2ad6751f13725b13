import type { Clock } from '@countersign/contracts/clock';
import type { Log, LogFields } from './log.js';
import { createRateLimit } from './rate-limit.js';

const lineRate = { burst: 20, perSecond: 1 };

/**
 * Returns a log that writes at most 20 warnings or errors of one message at once, and one per second after that. The
 * next such line reports in `leftOut` how many were omitted. Attack: refused requests fill the disk with log lines.
 */
export function createLimitedLog(log: Log, clock: Pick<Clock, 'monotonic'>): Log {
  const mayWrite = createRateLimit(lineRate, clock);
  const leftOut = new Map<string, number>();
  const write = (inner: Log, level: 'warn' | 'error', fields: LogFields, message: string): void => {
    const key = `${level} ${message}`;
    const before = leftOut.get(key) ?? 0;
    if (mayWrite(key)) {
      leftOut.delete(key);
      inner[level](before === 0 ? fields : { ...fields, leftOut: before }, message);
    } else {
      leftOut.set(key, before + 1);
    }
  };
  const limited = (inner: Log): Log => ({
    debug: inner.debug,
    info: inner.info,
    warn: (fields, message) => {
      write(inner, 'warn', fields, message);
    },
    error: (fields, message) => {
      write(inner, 'error', fields, message);
    },
    child: (fields) => limited(inner.child(fields)),
  });
  return limited(log);
}
