import { isReadable, QuestionRefusedError, upcast } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { LogSource } from '../log-source.js';
import { LogRewoundError } from '../log-source.js';
import type { Checkpoint } from './working-set.js';

/** The progress of a long read of the log. */
export interface Progress {
  readonly events: number;
  readonly position: number;
  /** The position to be reached. */
  readonly head: number;
}

export type OnProgress = (progress: Progress) => void;

/** The target of a fold. */
export interface Target {
  readonly checkpoint: () => { readonly position: number };
  readonly apply: (events: readonly LogEvent[]) => void;
}

const eventsPerPage = 5000;

/** Folds the events that the target lacks, up to `head`. Returns their number. */
export async function catchUp(
  target: Target,
  source: LogSource,
  head: number,
  onProgress?: OnProgress,
): Promise<number> {
  let events = 0;
  for (;;) {
    const after = target.checkpoint().position;
    if (after >= head) return events;
    const page = await source.readAll(after, eventsPerPage);
    const wanted = (page.at(-1)?.position ?? 0) <= head ? page : page.filter(({ position }) => position <= head);
    if (wanted.length === 0) throw new LogRewoundError(`the log ends before position ${String(head)}`);
    target.apply(wanted);
    events += wanted.length;
    onProgress?.({ events, position: target.checkpoint().position, head });
  }
}

/**
 * Refuses a log that does not continue the folded one: it was restored from a backup, even if it has grown beyond the
 * checkpoint since.
 */
export async function assertContinues(
  log: LogSource,
  { position, previous, eventId }: Checkpoint,
  head: number,
): Promise<void> {
  if (position === 0) return;
  const seen = `the read model has seen the log up to position ${String(position)}`;
  const advice = 'Restore the log; if the log is right, remove the read model file and start again';
  if (head < position) throw new LogRewoundError(`${seen}, but the log ends at ${String(head)}. ${advice}`);
  const [last] = await log.readAll(previous, 1).catch((error: unknown) => {
    if (error instanceof QuestionRefusedError) return [];
    throw error;
  });
  if (last?.position !== position || last.eventId !== eventId) {
    throw new LogRewoundError(`${seen}, but the log has another event there. ${advice}`);
  }
}

/** The events after the checkpoint, in today's form. */
export function fresh(events: readonly LogEvent[], after: number): readonly LogEvent[] {
  const first = events.findIndex(({ position }) => position > after);
  return first === -1 ? [] : events.slice(first).map((event) => (isReadable(event) ? upcast(event) : event));
}
