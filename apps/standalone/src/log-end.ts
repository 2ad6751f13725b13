import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { EventStoreDamagedError } from '@countersign/event-store';
import { createIdempotencyStore } from '@countersign/gateway';
import { forgetProgressBeyond, furthestProgress } from '@countersign/message-bus';

/** A file that keeps positions of the log, durably. */
interface PositionKeeper {
  /** The file and its progress in words, such as "bus.db has read the log". */
  readonly says: string;
  /** The highest position that the file knows; 0: none. */
  readonly furthest: (folder: string) => number;
  /** Deletes what lies beyond a position. */
  readonly forgetBeyond: (folder: string, position: number) => void;
}

const bus: PositionKeeper = {
  says: 'bus.db has read the log',
  furthest: furthestProgress,
  forgetBeyond: forgetProgressBeyond,
};

const requests: PositionKeeper = {
  says: 'idempotency.db knows requests',
  furthest: (folder) => withRequests(folder, (store) => store.furthest()) ?? 0,
  forgetBeyond: (folder, position) => {
    withRequests(folder, (store) => {
      store.forgetBeyond(position);
    });
  },
};

/**
 * Refuses a log that ends before a position that another file of the data folder knows. The read model checks its own.
 * @param acceptedEnd the end that the operator accepts: later positions are deleted from the other files.
 * @returns the furthest position that they knew; 0: none.
 * @throws EventStoreDamagedError naming the file, both positions and the remedy.
 */
export function checkKnownPositions(folder: string, head: number, acceptedEnd: number | null): number {
  let all = 0;
  for (const { says, furthest, forgetBeyond } of [bus, requests]) {
    const known = furthest(folder);
    all = Math.max(all, known);
    if (known <= head) continue;
    if (acceptedEnd !== head) throw missing(says, known, head);
    forgetBeyond(folder, head);
  }
  return all;
}

function missing(says: string, known: number, head: number): EventStoreDamagedError {
  return new EventStoreDamagedError(
    `${says} up to position ${String(known)}, but the log ends at position ${String(head)}: acknowledged events are ` +
      'missing. Restore the folder from a backup, all files of one moment together. To go on without the missing ' +
      `events, start once with COUNTERSIGN_ACCEPT_LOG_END=${String(head)}`,
    { position: head + 1 },
  );
}

function withRequests<T>(folder: string, work: (store: ReturnType<typeof createIdempotencyStore>) => T): T | undefined {
  const file = join(folder, 'idempotency.db');
  if (!existsSync(file)) return undefined;
  const store = createIdempotencyStore(file);
  try {
    return work(store);
  } finally {
    store.close();
  }
}
