import { atMost, sleep } from '@countersign/runtime';
import { compareWithTrees } from './compare-with-trees.js';
import { takenMax } from './event-queue.js';
import { createFollower } from './follower.js';
import type { Follower } from './follower.js';
import type { NotaryPorts } from './ports.js';
import { createTrees } from './trees.js';
import type { Trees } from './trees.js';

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

/** Keeps a tree over the log of each tenant, and signs checkpoints of it. */
export interface Notary {
  readonly start: () => void;
  /** The newest signed checkpoint of a tenant. */
  readonly newest: (tenant: string) => string | undefined;
  /** Signs a checkpoint that covers every event that is recorded now. */
  readonly sign: (tenant: string) => Promise<Signing>;
  /** The public keys of a tenant, the latest first, each as a line; none before its first event. */
  readonly vkeys: (tenant: string) => readonly string[];
  readonly health: () => NotaryHealth;
  /** Signs what is not signed yet, and stops. */
  readonly stop: () => Promise<void>;
}

/** A checkpoint covers at most 1,000 events more than the one before. */
const dueEvents = 1000 - takenMax;
const retryMs = 5_000;
const waitMsMax = 5_000;

/** The notary of a log: it follows the log from its first event on. */
export function createNotary(ports: NotaryPorts): Notary {
  const { store, clock, log } = ports;
  const stopping = new AbortController();
  const opened = Promise.withResolvers<undefined>();
  let trees = createTrees(ports);
  let health: NotaryHealth = { status: 'ok' };
  let running: Promise<void> = Promise.resolve();
  let follower: Follower | undefined;

  const rewound = (why: string): void => {
    if (health.status === 'rewound') return;
    health = { status: 'rewound', why };
    log.error({ why }, 'the log contradicts what was signed: no checkpoint is signed any more');
  };
  const settle = (isWhole: boolean, unsignedMin: number): void => {
    const why = trees.contradiction(isWhole);
    if (why !== undefined) rewound(why);
    if (health.status === 'rewound') return;
    health = { status: 'ok' };
    trees.sign(unsignedMin);
  };
  const followOnce = async (): Promise<void> => {
    const current = createTrees(ports);
    await current.open(await store.head());
    trees = current;
    const stop = new AbortController();
    const signal = AbortSignal.any([stop.signal, stopping.signal]);
    const comparing = compare(ports, current, signal).then((why) => {
      if (why !== undefined) rewound(why);
    });
    const following = createFollower({
      ...{ store, clock, signal, after: current.position(), take: current.take },
      onDue: () => {
        settle(true, 1);
      },
      onTaken: () => {
        settle(false, dueEvents);
      },
    });
    follower = following;
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
        if (health.status !== 'rewound') health = { status: 'failed', why: `the tree cannot follow the log: ${why}` };
        log.error({ error }, 'the tree cannot follow the log');
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
    settle(true, 1);
    return true;
  };
  return {
    start: () => {
      running = run();
    },
    newest: (tenant) => trees.newest(tenant),
    vkeys: (tenant) => trees.vkeys(tenant),
    health: () =>
      health.status === 'rewound' ? { status: 'rewound', why: rewoundWords(health.why, trees.position()) } : health,
    sign: async (tenant) => {
      const isDone = await signNow().catch((error: unknown) => {
        log.error({ error }, 'no checkpoint could be signed');
        return false;
      });
      if (health.status === 'rewound') return { status: 'rewound', why: rewoundWords(health.why, trees.position()) };
      if (!isDone) return { status: 'unavailable', why: 'the tree cannot follow the log at the moment' };
      const note = trees.newest(tenant);
      return note === undefined ? { status: 'empty' } : { status: 'signed', note };
    },
    stop: async () => {
      await signNow().catch((error: unknown) => {
        log.warn({ error }, 'no checkpoint was signed at the stop; the next start signs it');
      });
      stopping.abort();
      await running;
    },
  };
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
