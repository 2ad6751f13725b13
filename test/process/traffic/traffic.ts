import { setTimeout as sleep } from 'node:timers/promises';
import { createHttp } from '../harness/http.js';
import type { Random } from '../harness/random.js';
import type { Tokens } from '../harness/tokens.js';
import { approvalScenes } from './approval-scenes.js';
import { batchScenes } from './batch-scenes.js';
import { executionScenes } from './execution-scenes.js';
import { grantScenes } from './grant-scenes.js';
import type { Journal } from './journal.js';
import { createLedger } from './ledger.js';
import type { Ledger } from './ledger.js';
import { SceneOver } from './scene.js';
import type { Scene, Stage } from './scene.js';

/** Users of the ledger, at work. */
export interface Traffic {
  /** Lets every user finish its current scene. */
  readonly stop: () => Promise<void>;
  readonly scenes: () => number;
}

interface UsersOptions {
  readonly journal: Journal;
  readonly random: Random;
  /** How many users at once. */
  readonly users: number;
  /** Distinguishes the names of several traffic generators on one log. */
  readonly prefix: string;
  /** The longest pause of a user between two scenes. Default: 0. */
  readonly restMsMax?: number;
}

export interface TrafficOptions extends UsersOptions {
  readonly port: number;
  readonly tokens: Tokens;
}

/** One user that plays scenes. */
interface User {
  readonly ledger: Ledger;
  readonly scenes: readonly NamedScene[];
  readonly leave?: () => void;
}

export type NamedScene = readonly [string, Scene];

/** All that can be done over HTTP, except standing grants: another gateway may not know one yet. */
export const httpScenes: readonly NamedScene[] = Object.entries({
  ...approvalScenes,
  ...executionScenes,
  ...batchScenes,
});

/** The same with standing grants, for a single process. */
const scenesOfOneProcess: readonly NamedScene[] = [...httpScenes, ...Object.entries(grantScenes)];

/** Unique names that contain the scene's name. */
export function createNames(origin: string): Stage['name'] {
  let names = 0;
  return (what) => {
    names += 1;
    return `${what}-${names}-${origin}`;
  };
}

/** Starts users that play one scene after the other until they are stopped. */
export function startUsers(
  { journal, random, users, prefix, restMsMax = 0 }: UsersOptions,
  open: (user: number, name: string) => User,
): Traffic {
  const stopping = new AbortController();
  let played = 0;
  const rest = (userRandom: Random): Promise<void> =>
    sleep(userRandom.int(0, restMsMax), undefined, { signal: stopping.signal }).catch(() => undefined);
  const play = async (user: number, userRandom: Random): Promise<void> => {
    const { ledger, scenes, leave } = open(user, `${prefix}-${user}`);
    for (let turn = 1; !stopping.signal.aborted; turn += 1) {
      const [sceneName, scene] = userRandom.pick(scenes);
      const name = createNames(`${sceneName}-${prefix}-${user}-${turn}`);
      try {
        await scene({ ledger, journal, random: userRandom, name });
      } catch (error) {
        if (!(error instanceof SceneOver)) journal.surprises.push(`${sceneName} broke off: ${String(error)}`);
      }
      played += 1;
      if (restMsMax > 0) await rest(userRandom);
    }
    leave?.();
  };
  const playing = Array.from({ length: users }, (_, user) => play(user, random.fork()));
  return {
    scenes: () => played,
    stop: async () => {
      stopping.abort();
      await Promise.all(playing);
    },
  };
}

/** Users of one server, across every restart of it. */
export function startTraffic({ port, tokens, ...options }: TrafficOptions): Traffic {
  const http = createHttp(port);
  const { stop, scenes } = startUsers(options, (_, name) => ({
    ledger: createLedger(http, tokens, options.journal, name),
    scenes: scenesOfOneProcess,
  }));
  return {
    scenes,
    stop: async () => {
      await stop();
      http.close();
    },
  };
}
