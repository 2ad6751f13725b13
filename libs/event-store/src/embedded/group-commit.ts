import { setImmediate } from 'node:timers';
import type { AppendResult } from '../event-store.js';
import type { AppendRequest } from './appender.js';

/** Combines concurrent appends, so that they share one flush. */
export interface GroupCommit {
  readonly append: (request: AppendRequest) => Promise<AppendResult>;
  /** Commits the waiting appends now. */
  readonly flush: () => void;
}

/** The dependencies of a group commit. */
export interface GroupCommitPorts {
  /** Commits a group and resolves each append in order. An error rejects all of them. */
  readonly commit: (group: readonly AppendRequest[]) => readonly AppendResult[];
  /** Called after the appends of a group were resolved. */
  readonly afterCommit: () => void;
  readonly monotonic: () => number;
}

/** The largest group: it bounds how long a commit holds the event loop. */
const groupMax = 512;
/** Below this, waiting for more would cost latency and save next to nothing. */
const busyGroupMin = 8;
const gatherMsMax = 1;

interface Waiting {
  readonly request: AppendRequest;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * A group is what arrives in one turn of the event loop: a single append is committed in its own turn. After a large
 * group it is worth collecting more before the flush: it waits for further turns as long as each brings more, for one
 * millisecond at most.
 */
export function createGroupCommit({ commit, afterCommit, monotonic }: GroupCommitPorts): GroupCommit {
  let waiting: Waiting[] = [];
  let [lastGroup, seen, gatheringSince] = [0, 0, 0];
  let isScheduled = false;

  const flush = (): void => {
    const group = waiting.slice(0, groupMax);
    waiting = waiting.slice(groupMax);
    lastGroup = group.length;
    if (group.length === 0) return;
    answer(group, commit);
    afterCommit();
  };
  const turn = (): void => {
    const hasGrown = waiting.length > seen;
    seen = waiting.length;
    const isWorthWaiting = lastGroup >= busyGroupMin && seen < groupMax;
    if (isWorthWaiting && hasGrown && monotonic() - gatheringSince < gatherMsMax) {
      setImmediate(turn);
      return;
    }
    flush();
    isScheduled = false;
    if (waiting.length > 0) schedule();
  };
  const schedule = (): void => {
    if (isScheduled) return;
    isScheduled = true;
    seen = 0;
    gatheringSince = monotonic();
    setImmediate(turn);
  };
  return {
    append: (request) =>
      new Promise((resolve, reject) => {
        waiting.push({ request, resolve, reject });
        schedule();
      }),
    flush: () => {
      while (waiting.length > 0) flush();
    },
  };
}

function answer(group: readonly Waiting[], commit: GroupCommitPorts['commit']): void {
  let results: readonly AppendResult[];
  try {
    results = commit(group.map(({ request }) => request));
  } catch (error) {
    for (const { reject } of group) reject(error);
    return;
  }
  group.forEach(({ resolve, reject }, index) => {
    const result = results[index];
    if (result === undefined) reject(new Error('the commit answered fewer appends than it was given'));
    else resolve(result);
  });
}
