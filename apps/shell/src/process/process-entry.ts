import { ConfigError, printStartupLine } from '@countersign/runtime';
import type { LogFields } from '@countersign/runtime';

/** Prints lines for the person who started the process; without a terminal one line of JSON, with the fields. */
export function say(text: string, message = text, fields: LogFields = {}): void {
  printStartupLine(process.stdout, 'info', text, message, fields);
}

/** Prints an error for that person; without a terminal one line of JSON. */
export function complain(text: string): void {
  printStartupLine(process.stderr, 'error', text);
}

/**
 * Prints the result of `read` as JSON. If it throws, prints the reason with the process's name and sets exit code 1.
 */
export function printJson(name: string, read: () => unknown): void {
  try {
    process.stdout.write(`${JSON.stringify(read(), undefined, 2)}\n`);
  } catch (error) {
    process.stderr.write(`${name}: ${reasonOf(error)}\n`);
    process.exitCode = 1;
  }
}

/** Resolves at the first SIGINT or SIGTERM; the second one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = (signal: NodeJS.Signals): void => {
      signals += 1;
      if (signals > 1) process.exit(signal === 'SIGINT' ? 130 : 143);
      resolve();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

/** Everything is stopped. Open handles of the clients get this long to close. */
const lingerMs = 500;

/**
 * Ends the stopped process even if a client still tries: Kafka's does so for minutes when brokers are unreachable, and
 * the one of a collector of spans for seconds.
 */
export function endSoon(): void {
  setTimeout(() => process.exit(), lingerMs).unref();
}

/** One sentence for errors that a person can fix; the stack for others. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (error instanceof ConfigError) return error.message;
  const isOurs = error.constructor !== Error && error.name !== 'TypeError' && error.name !== 'RangeError';
  const code = 'code' in error ? error.code : undefined;
  return remedied(error, code) ?? (isOurs || code !== undefined ? error.message : (error.stack ?? error.message));
}

/** The remedy for a system error. */
function remedied(error: Error, code: unknown): string | undefined {
  if (code === 'EADDRINUSE') return `${error.message}. Another process has the port: stop it, or set COUNTERSIGN_PORT.`;
  if (code === 'ENOTFOUND' || code === 'EADDRNOTAVAIL') {
    return `${error.message}. COUNTERSIGN_HOST must be an address of this machine.`;
  }
  if (code === 'EACCES' && 'port' in error) {
    return `${error.message}. The user of this process may not use the port: set COUNTERSIGN_PORT to 1024 or more.`;
  }
  if (code === 'ENOSPC' || isFull(error)) {
    return `the disk is full (${error.message}): free some space where the data folder is, and start again`;
  }
  return undefined;
}

/** SQLITE_FULL. */
function isFull(error: Error): boolean {
  return 'errcode' in error && error.errcode === 13;
}
