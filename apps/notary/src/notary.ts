import { QuestionRefusedError } from '@countersign/contracts';
import { atMost, sleep } from '@countersign/runtime';
import { compareWithTrees } from './compare-with-trees.js';
import { takenMax } from './event-queue.js';
import { createFollower } from './follower.js';
import type { Follower } from './follower.js';
import { createLead } from './lead.js';
import { createLogTiles } from './log-tiles.js';
import type { LogTiles } from './log-tiles.js';
import type { NotaryPorts } from './ports.js';
import { createSettling } from './settling.js';
import { createTrees } from './trees.js';
import type { TreeFigures, Trees } from './trees.js';

/** The state of the notary, for `/readyz`. */
export type NotaryHealth =
  | { readonly status: 'ok' }
  /** `rewound`: the log contradicts what was signed, and nothing is signed any more. */
  | { readonly status: 'rewound' | 'failed'; readonly why: string };

/** The result of a request for a checkpoint. */
export type Signing =
  | { readonly status: 'signed'; readonly note: string }
  /** The tenant has no event. */
  | { readonly status: 'empty' }
  | { readonly status: 'rewound' | 'unavailable'; readonly why: string };

/** The figures of a notary. */
export interface NotaryFigures extends TreeFigures {
  /** The position of the last event that is in the trees. */
  readonly position: number;
  readonly isRewound: boolean;
}

/** Keeps a tree over the log of each tenant, and signs checkpoints of it. */
export interface Notary extends LogTiles {
  readonly start: () => void;
  /** The newest signed checkpoint of a tenant. */
  readonly newest: (tenant: string) => string | undefined;
  /** Signs a checkpoint that covers every event that is recorded now. */
  readonly sign: (tenant: string) => Promise<Signing>;
  /** The public keys of a tenant, the latest first, each as a line; none before its first event. */
  readonly vkeys: (tenant: string) => Promise<readonly string[]>;
  readonly health: () => NotaryHealth;
  /** Whether this notary signs. In a cluster another one stands by. */
  readonly isActive: () => boolean;
  readonly figures: () => NotaryFigures;
  /** Signs what is not signed yet, and stops. */
  readonly stop: () => Promise<void>;
}

/** A checkpoint covers at most 1,000 events more than the one before. */
const dueEvents = 1000 - takenMax;
const retryMs = 5_000;
const waitMsMax = 5_000;
const headAgainMs = 500;

/** The notary of a log: it follows the log from its first event on. */
export function createNotary(ports: NotaryPorts): Notary {
  const { store, clock, log, turns, behindMs = 0 } = ports;
  const stopping = new AbortController();
  /** A notary that stops signs once more, and then gives its turn away. */
  const leaving = new AbortController();
  const opened = Promise.withResolvers<undefined>();
  let trees = createTrees(ports);
  let notFollowed: string | undefined;
  let running: Promise<unknown> = Promise.resolve();
  let follower: Follower | undefined;
  let isWhole = false;

  const settling = createSettling({
    ...{ trees: () => trees, isActive: () => lead.isActive(), behindMs, clock, log },
    again: () => void attempt('no checkpoint could be signed'),
  });
  const lead = createLead({
    ...{ turns, clock, log, signal: leaving.signal },
    onActive: () => {
      if (isWhole) void settling.settle(true, 1);
    },
  });
  const followOnce = async (): Promise<void> => {
    const current = createTrees(ports);
    await current.open(await confirmedHead(ports, current.position()));
    [trees, isWhole] = [current, false];
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, stopping.signal]);
    const comparing = compare(ports, current, signal).then((why) => {
      if (why !== undefined) settling.rewind(why);
    });
    const following = createFollower({
      ...{ store, clock, signal, after: current.position(), take: current.take },
      onDue: () => {
        isWhole = true;
        void settling.settle(true, 1);
      },
      onTaken: () => {
        if (current.isDue(dueEvents)) void settling.settle(false, dueEvents);
      },
    });
    follower = following;
    notFollowed = undefined;
    opened.resolve(undefined);
    try {
      await following.run();
    } finally {
      stop.abort();
      await Promise.all([comparing, following.end()]);
    }
  };
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      try {
        await followOnce();
      } catch (error) {
        opened.resolve(undefined);
        const why = error instanceof Error ? error.message : String(error);
        notFollowed = `the tree cannot follow the log: ${why}`;
        log.error({ error }, 'the tree cannot follow the log');
        // The log is another one, or was put back: the trees are built from what is there.
        if (error instanceof QuestionRefusedError) ports.trees.clear();
        await sleep(clock, retryMs, stopping.signal);
      }
    }
  };
  /** Takes every event that is recorded now, and signs. Resolves to whether that was possible. */
  const signNow = async (): Promise<boolean> => {
    const head = await store.head();
    await atMost(clock, waitMsMax, opened.promise);
    if (follower === undefined) return false;
    await atMost(clock, waitMsMax, follower.reached(head));
    if (trees.position() < head) return false;
    await atMost(clock, waitMsMax, settling.settle(true, 1));
    return settling.problem() === undefined;
  };
  const attempt = async (failed: string): Promise<boolean> => {
    try {
      return await signNow();
    } catch (error) {
      log.warn({ error }, failed);
      return false;
    }
  };
  const rewound = (): { readonly status: 'rewound'; readonly why: string } | undefined => {
    const why = settling.rewound();
    return why === undefined ? undefined : { status: 'rewound', why: rewoundWords(why, trees.position()) };
  };
  const failed = (): string | undefined => notFollowed ?? settling.problem() ?? lead.problem();
  return {
    ...createLogTiles(store, () => trees),
    start: () => {
      running = Promise.all([run(), lead.run()]);
    },
    newest: (tenant) => trees.newest(tenant),
    vkeys: (tenant) => trees.vkeys(tenant),
    isActive: lead.isActive,
    figures: () => ({ ...trees.figures(), position: trees.position(), isRewound: settling.rewound() !== undefined }),
    health: () => {
      const why = failed();
      return rewound() ?? (why === undefined ? { status: 'ok' } : { status: 'failed', why });
    },
    sign: async (tenant) => {
      if (!lead.isActive()) return { status: 'unavailable', why: 'this notary is on standby: another one signs' };
      const isDone = await attempt('no checkpoint could be signed');
      const contradicted = rewound();
      if (contradicted !== undefined) return contradicted;
      if (!isDone) return { status: 'unavailable', why: failed() ?? 'the tree cannot follow the log at the moment' };
      const note = trees.newest(tenant);
      return note === undefined ? { status: 'empty' } : { status: 'signed', note };
    },
    stop: async () => {
      await attempt('no checkpoint was signed at the stop; the next start signs it');
      leaving.abort();
      stopping.abort();
      await running;
      await settling.stop();
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

function rewoundWords(why: string, position: number): string {
  return (
    `log-rewound: ${why}. No checkpoint is signed: restore the log from a backup, or, to go on with it as the next epoch, ` +
    `start once with COUNTERSIGN_ACCEPT_LOG_END=${String(position)}`
  );
}

/** Returns where the log differs from trees that were built before; undefined: nowhere, or it could not be read. */
async function compare(
  { store, clock, log }: NotaryPorts,
  built: Trees,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    return await compareWithTrees({ store, treeOf: built.sizedTreeOf(), to: built.position(), clock, signal });
  } catch (error) {
    if (!signal.aborted) log.warn({ error }, 'the log could not be compared with its trees');
    return undefined;
  }
}
