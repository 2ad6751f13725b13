import { inspect } from 'node:util';
import { ConfigError, createLog, createSystemIds, systemClock } from '@countersign/runtime';
import { openTracing, reasonOf } from '@countersign/shell';
import { clearTokenOf } from './clear-token.js';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';

/** Countersign in the process of another program, such as an agent. */
export interface Countersign {
  /** Its URL: people open the inbox there. */
  readonly url: string;
  /** For `createWorker` and the adapters: the address, a token with role agent and one with role resolver. `console.log` hides it. */
  readonly connection: { readonly url: string; readonly token: string; readonly resolverToken: string };
  /** Finishes requests in progress, stores everything, and releases the port and the data folder. */
  readonly close: () => Promise<void>;
}

/**
 * Starts Countersign in this process, with everything that `countersign start standalone` has. A worker uses it over the
 * loopback address, so its requests are checked like all others. Signals and uncaught errors are left to the program.
 *
 * @param env the settings, as in the environment of standalone: `COUNTERSIGN_DATA`, `COUNTERSIGN_PORT` and so on.
 *   The tokens of the connection are those of `agent` and `worker` in the tokens file. With a tokens file of your own,
 *   `COUNTERSIGN_TOKEN` and `COUNTERSIGN_RESOLVER_TOKEN` can name others.
 * @throws ConfigError that names every wrong variable at once, or the error of a port or a data folder that another process
 *   has. Then nothing is left running, and a used port leaves no data folder behind.
 * @example
 * const countersign = await openCountersign({ COUNTERSIGN_DATA: './approvals' });
 * const worker = createWorker({ ...countersign.connection, agentId: 'janitor', tools });
 */
export async function openCountersign(
  env: Readonly<Record<string, string | undefined>> = process.env,
): Promise<Countersign> {
  const config = readStandaloneConfig(env);
  const log = createLog({ level: config.logLevel, fields: { process: 'countersign' } });
  const tracing = await openTracing({ service: 'countersign', env, log });
  const world = { clock: systemClock, ids: createSystemIds(), log, tracing, env };
  const { url, tokensFile, stop } = await startStandalone(config, world).catch((error: unknown) => {
    throw explained(error);
  });
  try {
    const given = (variable: string, principal: string): string => {
      const named = nonEmpty(env[variable]);
      const clear = clearTokenOf(principal, tokensFile);
      // Without a tokens file of your own, the environment of an agent may name the tokens of another server.
      const token = config.tokensFile === null ? (clear ?? named) : (named ?? clear);
      if (token !== undefined) return token;
      const problem = `must be set, because ${tokensFile} has no token of ${principal} in clear`;
      throw new ConfigError([{ variable, problem }]);
    };
    const token = given('COUNTERSIGN_TOKEN', 'agent');
    const resolverToken = given('COUNTERSIGN_RESOLVER_TOKEN', 'worker');
    const connection = { url, token, resolverToken };
    Object.defineProperty(connection, inspect.custom, { value: () => '(hidden)' });
    return { url, connection, close: stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** An error of the system says nothing about settings: the message gets the remedy that `countersign start` prints. */
function explained(error: unknown): unknown {
  if (!(error instanceof Error && 'syscall' in error)) return error;
  const { code } = error as NodeJS.ErrnoException;
  return Object.assign(new Error(reasonOf(error), { cause: error }), { code });
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}
