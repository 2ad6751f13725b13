import pino from 'pino';
import { scopedFields } from './log-scope.js';

export const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const;

/** The least level that is written; `silent` writes nothing. */
export type LogLevel = (typeof logLevels)[number];

/** The fields of a line. An `error` is written with its stack and causes. */
export type LogFields = Readonly<Record<string, unknown>>;

/** A structured log: fields for programs, then one sentence for people. Never pass arguments of a tool or a token. */
export interface Log {
  readonly debug: (fields: LogFields, message: string) => void;
  readonly info: (fields: LogFields, message: string) => void;
  readonly warn: (fields: LogFields, message: string) => void;
  readonly error: (fields: LogFields, message: string) => void;
  /** A log whose lines carry these fields too. */
  readonly child: (fields: LogFields) => Log;
}

/** The options of `createLog`. */
export interface LogOptions {
  readonly level: LogLevel;
  /** Default `stderr`: the standard output of a command belongs to its result. */
  readonly destination?: 'stdout' | 'stderr' | { readonly write: (line: string) => void };
  /** Fields of every line, such as the process's name. */
  readonly fields?: LogFields;
  /** Paths of fields whose values are replaced by `[redacted]`, such as `headers.authorization`. */
  readonly redact?: readonly string[];
}

/** A log that writes one JSON object per line, synchronously, so that a kill loses none. */
export function createLog(options: LogOptions): Log {
  const { destination = 'stderr' } = options;
  const stream = typeof destination === 'object' ? destination : synchronous(destination === 'stdout' ? 1 : 2);
  const logger = pino(
    {
      level: options.level,
      base: { ...options.fields },
      mixin: () => ({ ...scopedFields() }),
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: pino.stdSerializers.errWithCause },
      messageKey: 'message',
      redact: { paths: [...(options.redact ?? [])], censor: '[redacted]' },
    },
    stream,
  );
  return wrap(logger);
}

/** Without `sync` a kill loses lines. After the reader of the log has ended, pino repeats its last write for ever, and the process never exits. */
function synchronous(fd: 1 | 2): pino.DestinationStream {
  return pino.destination({ dest: fd, sync: true });
}

function wrap(logger: pino.Logger): Log {
  return {
    debug: (fields, message) => {
      logger.debug(fields, message);
    },
    info: (fields, message) => {
      logger.info(fields, message);
    },
    warn: (fields, message) => {
      logger.warn(fields, message);
    },
    error: (fields, message) => {
      logger.error(fields, message);
    },
    child: (fields) => wrap(logger.child(fields)),
  };
}
