import { parseCheckpoint, parseNote } from '@countersign/audit';
import { atMost, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { announce } from './announcer.js';
import type { Announcer } from './announcer.js';
import { pushLog } from './push-log.js';
import type { SinkSource } from './push-log.js';
import { SinkAlarm } from './sink.js';
import type { Sink } from './sink.js';

/** The dependencies of pushing. */
export interface SinksPorts {
  readonly sinks: readonly (Sink | Announcer)[];
  readonly source: SinkSource;
  /** Whether this notary signs. Another one pushes otherwise. */
  readonly isActive: () => boolean;
  readonly clock: Clock;
  readonly log: Log;
}

/** The state of a sink. */
export interface SinkState {
  readonly name: string;
  /** Why it has not everything; undefined: the last push succeeded. */
  readonly problem: string | undefined;
  /** It has something that the log contradicts. */
  readonly isAlarm: boolean;
  /** How many signed events it lacks. */
  readonly lag: number;
  /** Since when it lacks some, in ms. */
  readonly behindSinceMs: number | undefined;
  /** When it took something last, in ms; undefined: not yet. */
  readonly succeededAtMs: number | undefined;
}

/** Pushes the log to every sink. */
export interface Sinks {
  readonly start: () => void;
  readonly states: () => readonly SinkState[];
  /** Pushes once more, for at most 5 s, and stops. */
  readonly stop: () => Promise<void>;
}

const lookMs = 1_000;
const retryMsFirst = 2_000;
const retryMsMax = 60_000;
const lastPushMsMax = 5_000;
const endMsMax = 1_000;
const remedy =
  'the sink or the log was changed: verify the log against the sink and your own checkpoints with countersign audit verify';

/** Each sink has a loop of its own, so that one that is away holds up no other one. */
export function createSinks(ports: SinksPorts): Sinks {
  const ending = new AbortController();
  const pushers = ports.sinks.map((sink) => createPusher(sink, ports, ending.signal));
  let running: Promise<unknown> = Promise.resolve();
  return {
    start: () => {
      running = Promise.all(pushers.map((pusher) => pusher.run()));
    },
    states: () => pushers.map((pusher) => pusher.state()),
    stop: async () => {
      const last = Promise.all(pushers.map((pusher) => pusher.last()));
      await atMost(ports.clock, lastPushMsMax, last);
      ending.abort();
      for (const sink of ports.sinks) sink.close();
      // A folder of a network that is gone never answers.
      await atMost(ports.clock, endMsMax, Promise.all([running, last]));
    },
  };
}

function createPusher(sink: Sink | Announcer, { source, isActive, clock, log }: SinksPorts, ending: AbortSignal) {
  const stopping = new AbortController();
  /** The checkpoint that the sink has, by tenant, and how many leaves it covers. */
  const given = new Map<string, { readonly note: string; readonly size: number }>();
  let problem: string | undefined;
  let isAlarm = false;
  let behindSinceMs: number | undefined;
  let succeededAtMs: number | undefined;
  let round: Promise<boolean> = Promise.resolve(true);

  const pushOne = async (tenant: string, note: string): Promise<void> => {
    const pushing = { source, tenant, note, signal: ending };
    const pushed = await ('publish' in sink ? announce(sink, pushing) : pushLog(sink, pushing));
    if (pushed.status === 'waits') return;
    given.set(tenant, { note, size: pushed.given });
    succeededAtMs = clock.now();
  };
  const end = (failures: readonly Failure[]): void => {
    const worst = failures.find(({ error }) => error instanceof SinkAlarm) ?? failures[0];
    const was = problem;
    [problem, isAlarm] = [worst === undefined ? undefined : whyOf(worst.error), worst?.error instanceof SinkAlarm];
    if (failures.length === 0 && lag() === 0) behindSinceMs = undefined;
    if (problem === was) return;
    const told = { sink: sink.name, tenant: worst?.tenant, why: problem };
    if (isAlarm) log.error({ ...told, remedy }, 'a sink of the log has something that the log contradicts');
    else if (worst !== undefined) log.warn(told, 'a sink of the log is away; it gets everything later');
    else log.info({ sink: sink.name }, 'a sink of the log takes everything again');
  };
  /** Pushes what is new for every tenant. Returns whether all went well. */
  const pushAll = async (): Promise<boolean> => {
    const failures: Failure[] = [];
    for (const tenant of source.tenants()) {
      const note = source.newest(tenant);
      if (note === undefined || given.get(tenant)?.note === note) continue;
      behindSinceMs ??= clock.now();
      try {
        await pushOne(tenant, note);
      } catch (error) {
        failures.push({ tenant, error });
        // The others of a sink that is away would only wait for it, too.
        if (!(error instanceof SinkAlarm)) break;
      }
    }
    if (!ending.aborted) end(failures);
    return failures.length === 0;
  };
  const lag = (): number =>
    source.tenants().reduce((sum, tenant) => {
      const note = source.newest(tenant);
      if (note === undefined) return sum;
      const size = parseCheckpoint(parseNote(note)?.text ?? '')?.size ?? 0;
      const has = given.get(tenant);
      return sum + Math.max(0, size - (has?.size ?? 0));
    }, 0);
  return {
    run: async () => {
      let retryMs = retryMsFirst;
      while (!stopping.signal.aborted && !ending.aborted) {
        const isFine = isActive() ? await (round = pushAll()) : true;
        await sleep(clock, isFine ? lookMs : retryMs, stopping.signal);
        retryMs = isFine ? retryMsFirst : Math.min(retryMs * 2, retryMsMax);
      }
    },
    last: async () => {
      stopping.abort();
      await round;
      await pushAll();
    },
    state: (): SinkState => ({ name: sink.name, problem, isAlarm, lag: lag(), behindSinceMs, succeededAtMs }),
  };
}

interface Failure {
  readonly tenant: string;
  readonly error: unknown;
}

function whyOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
