import type { LogFields, LogLevel } from './log.js';

type Target = Pick<NodeJS.WriteStream, 'isTTY' | 'write'>;

/**
 * Prints what a process says about its start and stop: as text on a terminal, otherwise as one JSON line in the form of the
 * log, because a collector reads it then.
 * @param fields for the JSON line alone.
 */
export function printStartupLine(
  target: Target,
  level: LogLevel,
  text: string,
  message = text,
  fields: LogFields = {},
): void {
  const line = target.isTTY ? text : JSON.stringify({ level, time: new Date().toISOString(), ...fields, message });
  target.write(`${line}\n`);
}
