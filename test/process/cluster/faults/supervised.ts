import { setTimeout as sleep } from 'node:timers/promises';
import { onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import { endOf, startServer } from '../../harness/server.js';
import type { Exit, Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { readinessOf } from '../roles.js';

/** One process of the cluster on its folder and port, restarted whenever it ends, like Docker does. */
export interface Supervised {
  /** Such as `ledger-2`. */
  readonly name: string;
  readonly role: string;
  readonly port: number;
  readonly folder: string;
  /** The process of the moment. */
  readonly server: () => Server;
  /** The output of all of its processes. */
  readonly output: () => string;
  /** SIGKILL; resolves once the next one was started. */
  readonly kill: () => Promise<void>;
  /** SIGTERM; returns how it ended, once the next one was started. */
  readonly restart: () => Promise<Exit>;
  /** Ends it for good, in order. */
  readonly remove: (signal?: 'SIGTERM' | 'SIGKILL') => Promise<Exit>;
  /** Additional settings of its next processes. */
  readonly setEnv: (env: Readonly<Record<string, string>>) => void;
  readonly ready: () => Promise<void>;
  /** Unexpected ends, in words; each is reported once. */
  readonly takeSurprises: () => readonly string[];
  /** How often it was started. */
  readonly starts: () => number;
}

export interface SupervisedOptions {
  readonly role: string;
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A process that only a restart can help reports that, and exits with 1: its store or its Kafka consumer is stuck. */
const asksForTheNext = /to be started again: .*( answers others|received nothing for)/;
const restartAfterMs = 100;

/** Starts a role and looks after it until the end of the tests. */
export async function supervise({ role, name, env }: SupervisedOptions): Promise<Supervised> {
  const [folder, port] = [temporaryFolder(), await freePort()];
  const surprises: string[] = [];
  const outputs: (() => string)[] = [];
  let more: Readonly<Record<string, string>> = {};
  let isRemoved = false;
  /** The server whose end was asked for. */
  let ordered: Server | undefined;
  const start = (): Server => {
    const server = startServer({ folder, port, args: ['start', role], env: { ...env, ...more } });
    outputs.push(server.output);
    // Called before the kill of this very server, so that it is not restarted.
    onCleanup(() => {
      isRemoved = true;
    });
    void server.exited.then(async (exit) => {
      if (isRemoved) return;
      // A crash point is a SIGKILL from inside.
      const isExpected = server === ordered || exit.signal === 'SIGKILL' || asksForTheNext.test(server.output());
      if (!isExpected) surprises.push(`${name} ended with ${JSON.stringify(exit)}: ${server.output().slice(-2000)}`);
      await sleep(restartAfterMs);
      if (!isStopping()) current = start();
    });
    return server;
  };
  const isStopping = (): boolean => isRemoved;
  let current = start();
  const replaced = async (signal: NodeJS.Signals): Promise<Exit> => {
    const server = current;
    ordered = server;
    const exit = await server.stop(signal);
    server.http.close();
    await eventually(`the next ${name}`, () => (current === server ? undefined : true));
    return exit;
  };
  return {
    ...{ name, role, port, folder },
    server: () => current,
    output: () => outputs.map((output) => output()).join(''),
    kill: async () => void (await replaced('SIGKILL')),
    restart: () => replaced('SIGTERM'),
    remove: async (signal = 'SIGTERM') => {
      isRemoved = true;
      return current.stop(signal);
    },
    setEnv: (env_) => {
      more = env_;
    },
    ready: async () => {
      let last = '';
      await eventually(
        `${name} to be ready`,
        async () => {
          const answer = await readinessOf(current);
          last = answer?.text ?? last;
          return answer?.status === 200 ? true : undefined;
        },
        100,
      ).catch((error: unknown) => {
        throw new Error(
          `${String(error)}; it said ${last} and printed:\n${outputs.map((each) => endOf(each())).join('')}`,
        );
      });
    },
    takeSurprises: () => surprises.splice(0),
    starts: () => outputs.length,
  };
}
