import { QuestionRefusedError } from '@countersign/contracts';
import { atMost, sleep } from '@countersign/runtime';
import { compareWithTrees } from './compare-with-trees.js';
import { takenMax } from './event-queue.js';
import { createFollower } from './follower.js';
import type { Follower } from './follower.js';
import type { NotaryPorts } from './ports.js';
import type { Settling } from './settling.js';
import type { Finding } from './signed-epochs.js';
import { createTrees } from './trees.js';
import type { Trees } from './trees.js';

/** Keeps the trees, as the log grows. */
export interface Following {
  readonly trees: () => Trees;
  /** Whether the trees have had every event of the log. */
  readonly isWhole: () => boolean;
  /** Whether the trees as they were at the start have been compared with the log, and are of it. */
  readonly isCompared: () => boolean;
  /** Why the trees cannot follow the log. */
  readonly problem: () => string | undefined;
  /** Follows until the signal aborts. */
  readonly run: () => Promise<void>;
  /** Builds the trees again, from the first event on. Resolves when they are followed. */
  readonly rebuild: () => Promise<void>;
  /** Takes every event that is recorded now. Resolves to whether that was possible. */
  readonly catchUp: () => Promise<boolean>;
}

/** A checkpoint covers at most 1,000 events more than the one before. */
const dueEvents = 1000 - takenMax;
const retryMs = 5_000;
const waitMsMax = 5_000;
const headAgainMs = 500;

/** Follows the log of these ports. `settling`: compares and signs what is taken. */
export function createFollowing(
  ports: Parameters<typeof createTrees>[0],
  stopping: AbortSignal,
  settling: () => Settling,
): Following {
  const { store, clock, log } = ports;
  let opened = Promise.withResolvers<undefined>();
  let trees = createTrees(ports);
  let [isWhole, problem] = [false, undefined as string | undefined];
  let follower: Follower | undefined;
  let stop = new AbortController();
  let [mustClear, isCompared] = [false, false];

  const followOnce = async (): Promise<void> => {
    if (mustClear) ports.trees.clear();
    [mustClear, stop] = [false, new AbortController()];
    const current = createTrees(ports);
    await current.open(await confirmedHead(ports, current.position()));
    [trees, isWhole, isCompared] = [current, false, false];
    const signal = AbortSignal.any([stop.signal, stopping]);
    const comparing = compare(ports, current, signal).then((found) => {
      isCompared = found === 'same';
      if (typeof found === 'object') settling().rewind(found);
    });
    const following = createFollower({
      ...{ store, clock, signal, after: current.position(), take: current.take },
      onDue: () => {
        isWhole = true;
        void settling().settle(true, 1);
      },
      onTaken: () => {
        if (current.isDue(dueEvents)) void settling().settle(false, dueEvents);
      },
    });
    [follower, problem] = [following, undefined];
    opened.resolve(undefined);
    try {
      await following.run();
    } finally {
      stop.abort();
      await Promise.all([comparing, following.end()]);
    }
  };
  return {
    trees: () => trees,
    isWhole: () => isWhole,
    isCompared: () => isCompared,
    problem: () => problem,
    run: async () => {
      while (!stopping.aborted) {
        try {
          await followOnce();
        } catch (error) {
          opened.resolve(undefined);
          const why = error instanceof Error ? error.message : String(error);
          problem = `the tree cannot follow the log: ${why}`;
          log.error({ error }, 'the tree cannot follow the log');
          // The log is another one, or was put back: the trees are built from what is there.
          if (error instanceof QuestionRefusedError) ports.trees.clear();
          await sleep(clock, retryMs, stopping);
        }
      }
    },
    rebuild: () => {
      [mustClear, opened, follower] = [true, Promise.withResolvers<undefined>(), undefined];
      stop.abort();
      return atMost(clock, waitMsMax, opened.promise);
    },
    catchUp: async () => {
      const head = await store.head();
      await atMost(clock, waitMsMax, opened.promise);
      if (follower === undefined) return false;
      await atMost(clock, waitMsMax, follower.reached(head));
      return trees.position() >= head;
    },
  };
}

/**
 * The end of the log. One that ends before the trees is asked again for a while: a store may answer with an older end for a
 * moment, and then the trees are not built again.
 */
async function confirmedHead({ store, clock, behindMs = 0 }: NotaryPorts, known: number): Promise<number> {
  const startMs = clock.monotonic();
  for (;;) {
    const head = await store.head();
    if (head >= known || clock.monotonic() - startMs >= behindMs) return head;
    await sleep(clock, headAgainMs);
  }
}

/** Returns where the log differs from trees that were built before; undefined: that is not known. */
async function compare(
  { store, clock, log }: NotaryPorts,
  built: Trees,
  signal: AbortSignal,
): Promise<Finding | 'same' | undefined> {
  try {
    const comparison = { store, treeOf: built.sizedTreeOf(), to: built.position(), clock, signal };
    return (await compareWithTrees(comparison)) ?? (signal.aborted ? undefined : 'same');
  } catch (error) {
    if (!signal.aborted) log.warn({ error }, 'the log could not be compared with its trees');
    return undefined;
  }
}
