import type { EventView, LogEventView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { type CliError, usageError } from '../cli-error.js';
import { type FollowOptions, followEvents, isOfOlderLog } from '../connection/event-stream.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { eventWords } from '../view/event-words.js';
import type { Line } from '../view/line.js';
import { wrapped } from '../view/line.js';

/** The options of `countersign tail`. */
export interface TailOptions {
  readonly run?: string;
  readonly call?: string;
  readonly types?: string;
  readonly after?: string;
  readonly limit?: number;
}

/**
 * `countersign tail`: prints events as they are recorded, until Ctrl-C or `--limit`. With `--json` it prints one JSON
 * document per event.
 */
export async function tail(invocation: Invocation, options: TailOptions): Promise<ExitCode> {
  const { terminal } = invocation;
  const done = new AbortController();
  const following: FollowOptions = {
    after: startOf(options.after),
    runId: options.run,
    callId: options.call,
    types: options.types,
    signal: AbortSignal.any([terminal.interrupted, done.signal]),
  };
  let shown = 0;
  for await (const event of eventsOf(invocation, following)) {
    invocation.printJson(event);
    invocation.print(...eventLines(event, invocation.columns, 'without-day'));
    shown += 1;
    if (shown === options.limit) {
      done.abort();
      return exitCodes.ok;
    }
  }
  return exitCodes.interrupted;
}

/**
 * Follows the events. Begins again at the same place after the log was restored from a backup, or with new events if the
 * restored log has no such place.
 */
async function* eventsOf(invocation: Invocation, options: FollowOptions): AsyncGenerator<LogEventView, void> {
  let { after } = options;
  let isRestored = false;
  const note = connectionNotes(invocation);
  for (;;) {
    const connection = { wasConnected: false };
    const onConnection = (lost: CliError | undefined): void => {
      connection.wasConnected ||= lost === undefined;
      note(lost);
    };
    try {
      return yield* followEvents(invocation.client, { ...options, after, onConnection });
    } catch (error) {
      // The first place that was asked for is an error of the command.
      if (!isOfOlderLog(error) || !(connection.wasConnected || isRestored)) throw error;
      after = isRestored && !connection.wasConnected ? 'now' : options.after;
      isRestored = true;
      invocation.note(`The log was restored from a backup. ${startWords(after)}`);
    }
  }
}

const startWords = (after: number | 'now'): string =>
  after === 'now' ? 'Continuing with new events only.' : `Starting again after #${String(after)}.`;

function startOf(after: string | undefined): number | 'now' {
  if (after === undefined || after === 'now') return 'now';
  if (!/^\d{1,15}$/.test(after)) throw usageError(`--after is a position such as 42, or now; not "${after}".`);
  return Number(after);
}

function connectionNotes(invocation: Invocation): (lost: CliError | undefined) => void {
  let isLost = false;
  return (lost) => {
    if (lost !== undefined && !isLost) invocation.note(`${printable(lost.message)} Retrying; no event will be missed.`);
    if (lost === undefined && isLost) invocation.note('Connected again.');
    isLost = lost !== undefined;
  };
}

/** An event for a person. Who follows a log as it grows knows the day. */
export function eventLines(event: LogEventView, columns: number, day: 'with-day' | 'without-day'): Line[] {
  const time = printable(day === 'with-day' ? event.recordedAt.replace('T', ' ') : event.recordedAt.slice(11));
  const where = [event.runId === null ? '' : `run ${printable(event.runId)}`, printable(event.callId ?? '')].filter(
    (part) => part !== '',
  );
  return [
    ...wrapped(`${time}  ${printable(event.type)}  #${String(event.position)}`, columns, 'bold'),
    ...wrapped(`  ${wordsOf(event)}`, columns, undefined, 2),
    ...(where.length === 0 ? [] : wrapped(`  ${where.join(', ')}`, columns, 'dim', 2)),
  ];
}

function wordsOf(event: LogEventView): string {
  return event.data === null
    ? printable(`cannot be read: ${event.unreadable ?? 'it has no data'}`)
    : eventWords(event as EventView);
}
