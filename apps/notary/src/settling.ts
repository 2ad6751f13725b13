import type { Clock, Log } from '@countersign/runtime';
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
  /** The log contradicts what was signed: nothing is signed any more. */
  readonly rewind: (why: string) => void;
  readonly rewound: () => string | undefined;
  /** Compares again, with trees that were built again. */
  readonly reset: () => void;
  /** Why nothing is signed at the moment. */
  readonly problem: () => string | undefined;
  readonly stop: () => Promise<void>;
}

const lookAgainMs = 1_000;
const signAgainMs = 5_000;

/** Nothing is settled yet. */
export function createSettling({ trees, isActive, behindMs, again, rebuild, clock, log }: SettlingPorts): Settling {
  let rewound: string | undefined;
  let problem: string | undefined;
  let shortSinceMs: number | undefined;
  let working: Promise<void> = Promise.resolve();
  let cancel: (() => void) | undefined;
  let isStopped = false;

  const rewind = (why: string): void => {
    if (rewound !== undefined) return;
    rewound = why;
    log.error({ why }, 'the log contradicts what was signed: no checkpoint is signed any more');
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
    if (rewound !== undefined) return false;
    const found = current.contradiction(isWhole);
    if (found === undefined) {
      if (isWhole) shortSinceMs = undefined;
      return true;
    }
    shortSinceMs ??= clock.monotonic();
    if (!found.isShort || clock.monotonic() - shortSinceMs >= behindMs) {
      rewind(found.why);
      return false;
    }
    problem = `${found.why}: the event store may lag behind, and is asked again`;
    lookLater(lookAgainMs);
    return false;
  };
  const reset = (): void => {
    [rewound, problem, shortSinceMs] = [undefined, undefined, undefined];
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
      if (rewound !== undefined && !isActive()) await learnOn(current);
      if (current.isOutdated()) return;
      await compareAndSign(current, isWhole, unsignedMin);
      if (rewound !== undefined && !isActive()) lookLater(signAgainMs);
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
    rewound: () => rewound,
    reset,
    problem: () => problem,
    stop: async () => {
      isStopped = true;
      cancel?.();
      await working;
    },
  };
}
