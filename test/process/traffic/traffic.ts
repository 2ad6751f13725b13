import { createHttp } from '../harness/http.js';
import type { Random } from '../harness/random.js';
import type { Tokens } from '../harness/tokens.js';
import { approvalScenes } from './approval-scenes.js';
import { batchScenes } from './batch-scenes.js';
import { executionScenes } from './execution-scenes.js';
import type { Journal } from './journal.js';
import { createLedger } from './ledger.js';
import { SceneOver } from './scene.js';
import type { Scene, Stage } from './scene.js';

/** Users of the ledger, at work. */
export interface Traffic {
  /** Lets every user finish what it is at. */
  readonly stop: () => Promise<void>;
  readonly scenes: () => number;
}

export interface TrafficOptions {
  readonly port: number;
  readonly tokens: Tokens;
  readonly journal: Journal;
  readonly random: Random;
  /** How many users at once. */
  readonly users: number;
  /** Keeps the names of several trafficks on one log apart. */
  readonly prefix: string;
}

const everyScene: readonly (readonly [string, Scene])[] = Object.entries({
  ...approvalScenes,
  ...executionScenes,
  ...batchScenes,
});

/** Names that were never given before, and tell which scene gave them. */
export function createNames(origin: string): Stage['name'] {
  let names = 0;
  return (what) => {
    names += 1;
    return `${what}-${names}-${origin}`;
  };
}

/** Starts users that play one scene after the other until they are stopped, across every restart of the server. */
export function startTraffic({ port, tokens, journal, random, users, prefix }: TrafficOptions): Traffic {
  const http = createHttp(port);
  let isStopping = false;
  let played = 0;
  const play = async (user: number, userRandom: Random): Promise<void> => {
    const ledger = createLedger(http, tokens, journal, `${prefix}-${user}`);
    for (let turn = 1; !isStopping; turn += 1) {
      const [sceneName, scene] = userRandom.pick(everyScene);
      try {
        await scene({
          ledger,
          journal,
          random: userRandom,
          name: createNames(`${sceneName}-${prefix}-${user}-${turn}`),
        });
      } catch (error) {
        if (!(error instanceof SceneOver)) journal.surprises.push(`${sceneName} broke off: ${String(error)}`);
      }
      played += 1;
    }
  };
  const playing = Array.from({ length: users }, (_, user) => play(user, random.fork()));
  return {
    scenes: () => played,
    stop: async () => {
      isStopping = true;
      await Promise.all(playing);
      http.close();
    },
  };
}
