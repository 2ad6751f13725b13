import type { Clock, Log } from '@countersign/runtime';
import type { Finding } from './signed-epochs.js';
import type { Trees } from './trees.js';

/** The dependencies of settling. */
export interface SettlingPorts {
  readonly trees: () => Trees;
  /** Whether this notary signs. Another one only learns what was signed. */
  readonly isActive: () => boolean;
  /** How long a log may end before what was signed. */
  readonly behindMs: number;
  /** Takes what is recorded meanwhile, and settles once more. */
  readonly again: () => void;
  /** Builds the trees again. Nothing waits for it. */
  readonly rebuild: () => void;
  readonly clock: Clock;
  readonly log: Log;
}

/** Compares the trees with what was signed, and signs; one after the other. */
export interface Settling {
  /** `isWhole`: the trees have every event. Resolves when it is done; it never rejects. */
  readonly settle: (isWhole: boolean, unsignedMin: number) => Promise<void>;
  /** The log of a tenant contradicts what was signed: nothing is signed any more, for any tenant. */
  readonly rewind: (found: Finding) => void;
  /** Why the log of this tenant contradicts what was signed; without a tenant: that of any one. */
  readonly rewound: (tenant?: string) => string | undefined;
  /** The log of this tenant goes on although it contradicts what was signed. */
  readonly accept: (tenant: string) => void;
  /** Why nothing is signed at the moment. */
  readonly problem: () => string | undefined;
  readonly stop: () => Promise<void>;
}

const lookAgainMs = 1_000;
const signAgainMs = 5_000;
const remedy =
  'restore the log from a backup, or go on with it as the next epoch: countersign audit continue --reason TEXT';

/** Nothing is settled yet. */
export function createSettling({ trees, isActive, behindMs, again, rebuild, clock, log }: SettlingPorts): Settling {
  /** What was found, by tenant. The key undefined stands for the whole log. */
  const rewound = new Map<string | undefined, string>();
  let problem: string | undefined;
  let shortSinceMs: number | undefined;
  let working: Promise<void> = Promise.resolve();
  let cancel: (() => void) | undefined;
  let isStopped = false;

  const rewind = ({ tenant, why }: Finding): void => {
    if (rewound.has(tenant)) return;
    rewound.set(tenant, why);
    log.error({ tenant, why, remedy }, 'the log contradicts what was signed: no checkpoint is signed any more');
  };
  const lookLater = (ms: number): void => {
    if (isStopped) return;
    cancel ??= clock.setTimer(ms, () => {
      cancel = undefined;
      again();
    });
  };
  /** Returns whether nothing contradicts what was signed. */
  const agrees = (current: Trees, isWhole: boolean): boolean => {
    const found = current.contradictions(isWhole).filter(({ tenant }) => !rewound.has(tenant));
    if (found.length > 0) shortSinceMs ??= clock.monotonic();
    else if (isWhole) shortSinceMs = undefined;
    const isOver = shortSinceMs !== undefined && clock.monotonic() - shortSinceMs >= behindMs;
    for (const one of found) if (isOver || !one.isShort) rewind(one);
    const waiting = found.find(({ tenant }) => !rewound.has(tenant));
    if (waiting !== undefined) {
      problem = `${waiting.why}: the event store may lag behind, and is asked again`;
      lookLater(lookAgainMs);
    }
    return rewound.size === 0 && waiting === undefined;
  };
  const reset = (): void => {
    rewound.clear();
    [problem, shortSinceMs] = [undefined, undefined];
  };
  const rebuildTrees = (): void => {
    log.warn({}, 'another notary went on as the next epoch: the trees are built again');
    reset();
    rebuild();
  };
  const learnOn = async (current: Trees): Promise<void> => {
    await current.learn(-Infinity);
    if (current.isOutdated()) rebuildTrees();
  };
  /** Compares, signs or learns, and compares again, because another notary may have signed more than this log has. */
  const compareAndSign = async (current: Trees, isWhole: boolean, unsignedMin: number): Promise<void> => {
    if (!agrees(current, isWhole)) return;
    await (isActive() ? current.sign(unsignedMin) : current.learn(unsignedMin));
    if (current.isOutdated()) rebuildTrees();
    else if (agrees(current, isWhole)) problem = current.problem();
  };
  const settleOnce = async (isWhole: boolean, unsignedMin: number): Promise<void> => {
    const current = trees();
    try {
      // The active notary may go on as the next epoch, on purpose.
      if (rewound.size > 0 && !isActive()) await learnOn(current);
      if (current.isOutdated()) return;
      await compareAndSign(current, isWhole, unsignedMin);
      if (rewound.size > 0 && !isActive()) lookLater(signAgainMs);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      problem = `no checkpoint can be signed at the moment: ${why}`;
      log.error({ error }, 'no checkpoint could be signed; it is tried again');
      lookLater(signAgainMs);
    }
  };
  return {
    settle: (...given) => (working = working.then(() => settleOnce(...given))),
    rewind,
    rewound: (tenant) =>
      tenant === undefined ? [...rewound.values()][0] : (rewound.get(tenant) ?? rewound.get(undefined)),
    accept: (tenant) => {
      rewound.delete(tenant);
      rewound.delete(undefined);
      [problem, shortSinceMs] = [undefined, undefined];
    },
    problem: () => problem,
    stop: async () => {
      isStopped = true;
      cancel?.();
      await working;
    },
  };
}
