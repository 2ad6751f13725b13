import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from './random.js';
import { endOf, startServer } from './server.js';
import type { Server, ServerOptions } from './server.js';
import { within } from './wait.js';

/** Where the process was when it was killed. */
export type Moment = 'starting' | 'serving' | `at ${string}`;

export interface Killer {
  /** Starts the process on the folder, kills it, and returns where. */
  readonly killOnce: () => Promise<Moment>;
  readonly counts: () => Readonly<Record<string, number>>;
  /** How long each start took until it was ready, in ms; only of those that became ready. */
  readonly startsMs: () => readonly number[];
}

/** The time within which a process must pass its crash point often enough. */
const crashWithinMs = 1500;
/** A crash point that was not hit yet: the process dies at its first pass, on a machine of any speed. */
const firstCrashWithinMs = 10_000;

/**
 * Kills with SIGKILL: at random moments of starting and serving, and at each of the named crash points in turn. A kill without a
 * named point takes no turn, and there is hardly ever one more of them: twice as many kills as points meet all points.
 */
export function createKiller(options: ServerOptions, random: Random, crashPoints: readonly string[]): Killer {
  const counts: Record<string, number> = {};
  const startsMs: number[] = [];
  let turn = random.int(0, crashPoints.length - 1);
  /** How many kills more were without a named point than with one. */
  let ahead = 0;

  const killAtCrashPoint = async (name: string): Promise<Moment> => {
    const isFirst = counts[`at ${name}`] === undefined;
    const passes = isFirst ? 1 : random.int(1, name.startsWith('append.') ? 40 : 4);
    const env = { ...options.env, COUNTERSIGN_CRASH_AT: `${name}:${passes}` };
    const server = startServer({ ...options, env });
    // It may crash in the append of its own start.
    await ready(server).catch(() => undefined);
    const exit = await within(isFirst ? firstCrashWithinMs : crashWithinMs, server.exited);
    if (exit !== undefined) return assertKilled(server, `at ${name}`);
    return kill(server, 'serving');
  };
  const killAtRandom = async (): Promise<Moment> => {
    const server = startServer(options);
    // The first one is killed during its start, so that every run covers that.
    if (counts['starting'] === undefined || random.chance(0.12)) {
      await sleep(random.int(0, Math.round(Math.max(200, ...startsMs.slice(-5)))));
      return kill(server, 'starting');
    }
    await ready(server);
    await sleep(random.int(20, 300));
    return kill(server, 'serving');
  };
  const ready = async (server: Server): Promise<void> => {
    const startedAt = performance.now();
    await server.ready();
    startsMs.push(performance.now() - startedAt);
  };
  return {
    killOnce: async () => {
      const isNamed = crashPoints.length > 0 && (ahead > 0 || random.chance(0.5));
      ahead += isNamed ? -1 : 1;
      if (isNamed) turn = (turn + 1) % crashPoints.length;
      const moment = isNamed ? await killAtCrashPoint(crashPoints[turn] ?? '') : await killAtRandom();
      counts[moment] = (counts[moment] ?? 0) + 1;
      return moment;
    },
    counts: () => counts,
    startsMs: () => startsMs,
  };
}

async function kill(server: Server, moment: Moment): Promise<Moment> {
  server.kill('SIGKILL');
  return assertKilled(server, moment);
}

/** A process that exits by itself, for any reason, is a finding and not a kill. */
async function assertKilled(server: Server, moment: Moment): Promise<Moment> {
  const exit = await server.exited;
  server.http.close();
  if (exit.signal !== 'SIGKILL') {
    throw new Error(
      `the process ended ${moment} by itself (${JSON.stringify(exit)}); it printed:\n${endOf(server.output())}`,
    );
  }
  return moment;
}
