import { parseCheckpoint, parseNote, parseOrigin } from '@countersign/audit';
import { crashPoint, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { createSender } from '../sinks/send.js';
import { askAuthority } from './ask-authority.js';
import type { KeptTimestamps } from './kept-timestamps.js';
import type { TimestampSettings } from './timestamp-settings.js';

/** The dependencies of the time stamps. */
export interface TimestampsPorts {
  /** Null: no checkpoint gets one. */
  readonly settings: TimestampSettings | null;
  readonly kept: KeptTimestamps;
  readonly source: {
    readonly tenants: () => readonly string[];
    /** The newest signed checkpoint; undefined: there is none, or the log contradicts what was signed. */
    readonly newest: (tenant: string) => string | undefined;
  };
  /** Whether this notary signs. Another one asks otherwise. */
  readonly isActive: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** How the authority does. */
export interface TimestampState {
  /** Why the newest checkpoint that was due got no time stamp; undefined: it did. */
  readonly problem: string | undefined;
  /** When there was a time stamp and when there was none last, in ms; undefined: not yet. */
  readonly succeededAtMs: number | undefined;
  readonly failedAtMs: number | undefined;
}

/** Gets time stamps of the checkpoints. */
export interface Timestamps {
  readonly start: () => void;
  readonly state: () => TimestampState;
  readonly stop: () => Promise<void>;
}

const lookMs = 500;
const retryMsFirst = 2_000;
const retryMsMax = 600_000;
const timeoutMs = 10_000;
const answerBytesMax = 64 * 1024;

/** Nothing waits for a time stamp: a log whose authority is away goes on without. */
export function createTimestamps({ settings, kept, source, isActive, clock, log }: TimestampsPorts): Timestamps {
  const stopping = new AbortController();
  let running: Promise<unknown> = Promise.resolve();
  let state: TimestampState = { problem: undefined, succeededAtMs: undefined, failedAtMs: undefined };
  let close = (): void => undefined;

  const end = (problem: string | undefined): void => {
    const was = state.problem;
    state = { ...state, problem, ...(problem !== undefined && { failedAtMs: clock.now() }) };
    if (was === problem) return;
    if (problem === undefined) log.info({}, 'checkpoints get time stamps again');
    else log.warn({ why: problem }, 'a checkpoint got no time stamp; the authority is asked again');
  };
  const start = (given: TimestampSettings): void => {
    const sender = createSender({ ...given, clock, timeoutMs, answerBytesMax });
    close = sender.close;
    /** @throws Error with the reason */
    const stamp = async (tenant: string): Promise<void> => {
      const due = dueIn(source.newest(tenant));
      if (due === undefined) return;
      const [last] = await kept.read(tenant, { order: 'newest', limit: 1 });
      const isStamped = last !== undefined && last.epoch === due.epoch && last.size >= due.size;
      const ageMs = last === undefined ? Infinity : Math.abs(clock.now() - Date.parse(last.time));
      if (isStamped || ageMs < given.intervalMs) return;
      const { reply, time } = await askAuthority(sender, given, due.text);
      crashPoint('notary.stamped');
      await kept.keep(tenant, { ...due, reply, time: time.toISOString() });
      state = { ...state, succeededAtMs: clock.now() };
    };
    const stampAll = async (): Promise<boolean> => {
      try {
        for (const tenant of source.tenants()) {
          if (stopping.signal.aborted) return true;
          await stamp(tenant);
        }
        end(undefined);
        return true;
      } catch (error) {
        if (!stopping.signal.aborted) end(error instanceof Error ? error.message : String(error));
        return false;
      }
    };
    const run = async (): Promise<void> => {
      let retryMs = retryMsFirst;
      while (!stopping.signal.aborted) {
        if (!isActive()) kept.forget();
        const isFine = isActive() ? await stampAll() : true;
        await sleep(clock, isFine ? lookMs : retryMs, stopping.signal);
        retryMs = isFine ? retryMsFirst : Math.min(retryMs * 2, retryMsMax);
      }
    };
    running = run();
  };
  return {
    start: () => {
      if (settings !== null) start(settings);
    },
    state: () => state,
    stop: async () => {
      stopping.abort();
      close();
      await running;
    },
  };
}

/** What is stamped of a checkpoint: its text, which is what the log signed. */
function dueIn(note: string | undefined) {
  const text = parseNote(note ?? '')?.text;
  const checkpoint = parseCheckpoint(text ?? '');
  const origin = parseOrigin(checkpoint?.origin ?? '');
  if (text === undefined || checkpoint === undefined || origin === undefined) return undefined;
  return { text, epoch: origin.epoch, size: checkpoint.size };
}
