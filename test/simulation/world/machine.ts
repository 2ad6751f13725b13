import type { Clock, Ids, Log, LogFields } from '@countersign/runtime';
import type { World } from './world.ts';

/** The machine has crashed: its processes get no more responses. */
const never = <T>(): Promise<T> => new Promise<T>(() => undefined);

/**
 * One start of one process. When it is killed, everything in its memory is cut off from the world, and its requests get
 * no response. A frozen one continues where it was once it is thawed.
 */
export interface Machine {
  readonly name: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly isAlive: () => boolean;
  readonly isFrozen: () => boolean;
  /** It has read altered data: nothing that it acknowledges counts until it is replaced. */
  readonly isDeceived: () => boolean;
  readonly deceive: () => void;
  /** Asks something of the outside: the only way out of the machine. */
  readonly call: <T>(work: () => Promise<T>) => Promise<T>;
  /** Delivers a result: settles while the machine runs, and never once it has crashed. */
  readonly enter: () => Promise<void>;
  readonly kill: (why: string) => void;
  readonly freeze: (why: string) => void;
  readonly thaw: () => void;
  /** Sets its wall clock wrong, or right. */
  readonly jump: (byMs: number) => void;
  /** Runs when the machine crashes; at once if it has. */
  readonly onDeath: (fn: () => void) => void;
}

/** Possibly suspends the holder of a claim for longer than its lease; it then continues as if nothing had happened. */
export async function hangPerhaps(world: World, machine: Machine): Promise<void> {
  if (!world.random.chance(world.hazards().zombie)) return;
  machine.freeze('with a claim in its hands');
  world.clock.setTimer(5_000 + world.random.below(25_000), machine.thaw);
  await machine.enter();
}

/** Starts a machine; `crashes: false` for those that nothing kills by chance. */
export function startMachine(world: World, name: string, options: { readonly crashes?: boolean } = {}): Machine {
  const { random, trace } = world;
  const skewMs = drawSkewMs(world);
  let jumpedMs = 0;
  let isDeceived = false;
  let state: 'running' | 'frozen' | 'dead' = 'running';
  const onDeath: (() => void)[] = [];
  const waiting: (() => void)[] = [];
  const stateNow = (): typeof state => state;

  const clock: Clock = {
    now: () => Math.round(world.clock.now()) + (world.isHealed() ? 0 : skewMs + jumpedMs),
    monotonic: world.clock.monotonic,
    setTimer: (delayMs, fn) => {
      let isOff = false;
      const fire = (): void => {
        if (isOff || state === 'dead') return;
        if (state === 'frozen') waiting.push(fire);
        else fn();
      };
      const cancel = world.clock.setTimer(delayMs, fire);
      return () => {
        isOff = true;
        cancel();
      };
    },
  };
  const enter = (): Promise<void> => {
    if (state === 'dead') return never();
    if (state === 'running') return Promise.resolve();
    return new Promise<void>((resolve) => waiting.push(resolve)).then(enter);
  };
  const kill = (why: string): void => {
    if (state === 'dead') return;
    state = 'dead';
    trace.add(name, `killed: ${why}`);
    waiting.length = 0;
    for (const fn of onDeath.splice(0)) fn();
  };
  const freeze = (why: string): void => {
    if (state !== 'running') return;
    state = 'frozen';
    trace.add(name, `frozen: ${why}`);
  };
  const thaw = (): void => {
    if (state !== 'frozen') return;
    state = 'running';
    trace.add(name, 'goes on');
    for (const fn of waiting.splice(0)) fn();
  };
  const mayCrash = options.crashes ?? true;
  return {
    name,
    clock,
    ids: world.ids,
    log: traceLog(world, name),
    isAlive: () => state !== 'dead',
    isFrozen: () => state === 'frozen',
    isDeceived: () => isDeceived,
    deceive: () => {
      isDeceived = true;
    },
    enter,
    call: async (work) => {
      await enter();
      if (mayCrash && random.chance(world.hazards().crashBefore)) kill('before it asked');
      if (stateNow() === 'dead') return never();
      const answer = await work().then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      );
      if (mayCrash && random.chance(world.hazards().crashAfter)) kill('before it heard the answer');
      if (mayCrash && random.chance(world.hazards().freezeAfter)) {
        freeze('before it heard the answer');
        world.clock.setTimer(random.below(30_000), thaw);
      }
      await enter();
      if ('error' in answer) throw answer.error;
      return answer.value;
    },
    kill,
    freeze,
    thaw,
    jump: (byMs) => {
      jumpedMs += byMs;
      trace.add(name, `its clock jumps by ${byMs} ms`);
    },
    onDeath: (fn) => {
      if (state === 'dead') fn();
      else onDeath.push(fn);
    },
  };
}

/** Where clocks are far off, every second machine has a right one. */
function drawSkewMs({ random, hazards }: World): number {
  const { skewMsMax } = hazards();
  if (skewMsMax > moderateSkewMs && random.chance(0.5)) return 0;
  return random.below(2 * skewMsMax + 1) - skewMsMax;
}

const moderateSkewMs = 2_000;

/** A process's warnings and errors, as lines of the trace. */
function traceLog({ trace }: World, name: string): Log {
  const write = (fields: LogFields, message: string): void => {
    const { error, callId, code } = fields as { error?: unknown; callId?: string; code?: string };
    const why = error instanceof Error ? `: ${error.message}` : '';
    trace.add(name, [message + why, callId, code].filter((part) => part !== undefined).join(' '));
  };
  const log: Log = { debug: () => undefined, info: () => undefined, warn: write, error: write, child: () => log };
  return log;
}
