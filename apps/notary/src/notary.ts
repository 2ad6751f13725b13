import { parseVkey } from '@countersign/audit';
import { atMost, sleep } from '@countersign/runtime';
import { createFollowing } from './following.js';
import type { Following } from './following.js';
import { createLead } from './lead.js';
import { createLogTiles } from './log-tiles.js';
import type { LogTiles } from './log-tiles.js';
import type { NotaryPorts } from './ports.js';
import type { SinkSource } from './sinks/push-log.js';
import { createSettling } from './settling.js';
import type { Settling } from './settling.js';
import type { TreeFigures } from './trees.js';
import type { WitnessedLog } from './witnesses/witnesses.js';

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

/** The log of a tenant that contradicts what was signed. */
export interface Rewound {
  readonly why: string;
  /** The newest checkpoint that was signed of it; null: none is known. */
  readonly checkpoint: string | null;
}

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
  /** Why the log contradicts what was signed, or the log key is another one; undefined: neither. */
  readonly rewound: (tenant: string) => Rewound | undefined;
  /** Goes on with the log of a tenant as the next epoch, although it contradicts what was signed, and signs it. */
  readonly goOn: (tenant: string) => Promise<Signing>;
  /** Resolves when each tenant whose log goes on as its next epoch has the event that says why, or when that fails. It never rejects. */
  readonly begun: () => Promise<void>;
  /** The public keys of a tenant, the latest first, each as a line; none before its first event. */
  readonly vkeys: (tenant: string) => Promise<readonly string[]>;
  readonly health: () => NotaryHealth;
  /** Whether this notary signs. In a cluster another one stands by. */
  readonly isActive: () => boolean;
  readonly figures: () => NotaryFigures;
  /** What is pushed to the sinks. */
  readonly source: SinkSource;
  /** What witnesses are told of. */
  readonly witnessed: Pick<WitnessedLog, 'treeOf' | 'reread' | 'rewind'>;
  /** Signs what is not signed yet, and stops. */
  readonly stop: () => Promise<void>;
}

const waitMsMax = 5_000;
const standby: Signing = { status: 'unavailable', why: 'this notary is on standby: another one signs' };

/** The notary of a log: it follows the log from its first event on. */
export function createNotary(ports: NotaryPorts): Notary {
  const { store, clock, log, turns, behindMs = 0 } = ports;
  // A notary that stops signs once more, and then gives its turn away.
  const [stopping, leaving] = [new AbortController(), new AbortController()];
  let running: Promise<unknown> = Promise.resolve();

  const accepted = new Map<string, string>();
  const following = createFollowing({ ...ports, accepted }, stopping.signal, () => settling);
  const { trees } = following;
  const settling = createSettling({
    ...{ trees, isActive: () => lead.isActive(), behindMs, clock, log },
    again: () => void attempt('no checkpoint could be signed'),
    rebuild: () => void following.rebuild(),
  });
  const lead = createLead({
    ...{ turns, clock, log, signal: leaving.signal },
    onActive: () => {
      if (following.isWhole()) void settling.settle(true, 1);
    },
  });
  const attempt = createAttempt(following, () => settling, { clock, log });
  const rewound = (): { readonly status: 'rewound'; readonly why: string } | undefined => {
    const why = settling.rewound();
    return why === undefined
      ? undefined
      : { status: 'rewound', why: rewoundWords(why, trees().position(), ports.shared !== undefined) };
  };
  const failed = (): string | undefined => following.problem() ?? settling.problem() ?? lead.problem();
  const tiles = createLogTiles(store, trees);
  const signNow = async (tenant: string): Promise<Signing> => {
    const isDone = await attempt('no checkpoint could be signed');
    const contradicted = rewound();
    if (contradicted !== undefined) return contradicted;
    if (!isDone) return { status: 'unavailable', why: failed() ?? 'the tree cannot follow the log at the moment' };
    const note = trees().newest(tenant);
    return note === undefined ? { status: 'empty' } : { status: 'signed', note };
  };
  return {
    ...tiles,
    source: {
      ...tiles,
      keysOf: async (tenant) => (await trees().vkeys(tenant)).map(parseVkey).filter((key) => key !== undefined),
      newest: (tenant) => (settling.rewound() === undefined ? trees().newest(tenant) : undefined),
      treeOf: (tenant) => trees().signedTree(tenant)?.tree,
      hear: (tenant, note) => {
        trees().hear(tenant, note);
        void attempt('a checkpoint that a sink has could not be compared with the log');
      },
    },
    witnessed: {
      ...{ treeOf: (tenant: string) => trees().signedTree(tenant)?.tree, rewind: settling.rewind },
      reread: () =>
        sleep(clock, behindMs, leaving.signal).then(() => attempt('the log could not be read again for a witness')),
    },
    start: () => {
      running = Promise.all([following.run(), lead.run()]);
    },
    newest: (tenant) => trees().newest(tenant),
    vkeys: (tenant) => trees().vkeys(tenant),
    isActive: lead.isActive,
    figures: () => ({
      ...trees().figures(),
      position: trees().position(),
      isRewound: settling.rewound() !== undefined,
    }),
    health: () => {
      const why = failed();
      return rewound() ?? (why === undefined ? { status: 'ok' } : { status: 'failed', why });
    },
    rewound: (tenant) => {
      const why = settling.rewound(tenant) ?? trees().changedKey(tenant);
      return why === undefined ? undefined : { why, checkpoint: trees().latest(tenant) ?? null };
    },
    goOn: async (tenant) => {
      if (!lead.isActive()) return standby;
      const why = settling.rewound(tenant) ?? trees().changedKey(tenant);
      if (why !== undefined) {
        // It is kept until the next epoch is signed: later, where the log cannot be read now or another tenant's contradicts too.
        accepted.set(tenant, why);
        settling.accept(tenant);
        if (!following.isCompared()) await following.rebuild();
      }
      return signNow(tenant);
    },
    begun: async () => {
      while (!(await attempt('it could not be recorded why the log goes on as its next epoch')))
        if (failed() !== undefined || settling.rewound() !== undefined) return;
    },
    sign: (tenant) => (lead.isActive() ? signNow(tenant) : Promise.resolve(standby)),
    stop: async () => {
      await attempt('no checkpoint was signed at the stop; the next start signs it');
      leaving.abort();
      stopping.abort();
      await running;
      await settling.stop();
    },
  };
}

function rewoundWords(why: string, position: number, isCluster: boolean): string {
  const start = isCluster ? '' : `, or start once with COUNTERSIGN_ACCEPT_LOG_END=${String(position)}`;
  return `log-rewound: ${why}. No checkpoint is signed, and commands are refused: restore the log from a backup, or go on with it as the next epoch: countersign audit continue --reason TEXT${start}`;
}

/** Takes every event that is recorded now, and signs. Resolves to whether that was possible. */
function createAttempt(
  { trees, catchUp }: Following,
  settling: () => Settling,
  { clock, log }: Pick<NotaryPorts, 'clock' | 'log'>,
): (failed: string) => Promise<boolean> {
  return async (failed) => {
    try {
      // The event that says why an epoch begins is recorded first, and is in the tree after it is read.
      for (let rounds = 0; rounds < 2; rounds += 1) {
        if (!(await catchUp())) return false;
        await atMost(clock, waitMsMax, settling().settle(true, 1));
        if (!trees().isBeginning()) break;
      }
      return settling().problem() === undefined;
    } catch (error) {
      log.warn({ error }, failed);
      return false;
    }
  };
}
