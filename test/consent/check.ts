import { setTimeout as delay } from 'node:timers/promises';
import fc from 'fast-check';
import { cases } from './cases.ts';
import { histories } from './commands.ts';
import type { Defence } from './defences.ts';
import { playOnServer, playWithoutServer } from './play.ts';
import type { Command } from './words.ts';

/** What is played, and against what. */
export interface Played {
  readonly runs: number;
  readonly seed: number;
  readonly without: Defence | null;
  readonly server: boolean;
}

/** How long a shorter history is looked for, after the first one that breaks a law. */
const shrinkMs = 10_000;
const progressMs = 10_000;
/** A world that takes longer is stuck. It is reported as it is. */
const stuckMs = 180_000;

/**
 * Plays the known cases, then worlds of chance, as many as `runs` in all; 0: the known cases alone. Says how far it is, and at once which world breaks a law. Returns a report of the
 * shortest one that was found; undefined when all laws were kept.
 */
export async function check(played: Played, say: (text: string) => void): Promise<string | undefined> {
  const { runs, seed, server, without } = played;
  // The limits of a history take hundreds of steps.
  const examples = Object.values(cases).filter(({ length }) => !server || length < 100);
  let [worlds, giveUpAt, nextSayAt] = [0, Infinity, performance.now() + progressMs];
  const play = async (commands: readonly Command[]): Promise<void> => {
    if (performance.now() > giveUpAt) return;
    try {
      await inTime(server ? playOnServer(commands) : playWithoutServer(commands, without));
    } catch (error) {
      if (giveUpAt === Infinity) say(`The first one:\n${reportOf(played, error, commands)}`);
      giveUpAt = error instanceof Stuck ? 0 : Math.min(giveUpAt, performance.now() + shrinkMs);
      throw error;
    }
    worlds += 1;
    if (performance.now() < nextSayAt) return;
    nextSayAt = performance.now() + progressMs;
    say(`${String(worlds)} worlds`);
  };
  const { failed, errorInstance, counterexample } = await fc.check(fc.asyncProperty(histories, play), {
    ...{ examples: examples.map((commands) => [commands]), numRuns: runs === 0 ? examples.length : runs, seed },
  });
  return failed ? reportOf(played, errorInstance, counterexample?.[0] ?? []) : undefined;
}

class Stuck extends Error {}

/** Throws when a world is stuck. */
async function inTime(world: Promise<void>): Promise<void> {
  const ended = new AbortController();
  const late = delay(stuckMs, undefined, { signal: ended.signal }).then(() => {
    throw new Stuck(`the world did not end in ${String(stuckMs / 1_000)} s`);
  });
  try {
    await Promise.race([world, late]);
  } finally {
    ended.abort();
  }
}

function reportOf({ seed, runs, server }: Played, error: unknown, commands: readonly Command[]): string {
  return [
    `VIOLATION ${String(error)}`,
    ...commands.map((command) => `  ${JSON.stringify(command)}`),
    `SEED=${String(seed)} RUNS=${String(runs)} npm run consent${server ? ' -- --server' : ''}`,
  ].join('\n');
}
