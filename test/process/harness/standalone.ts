import { join } from 'node:path';
import type { Entry } from '../audit/log.js';
import { readLogFile } from '../audit/log.js';
import { createJournal } from '../traffic/journal.js';
import type { Journal } from '../traffic/journal.js';
import { createLedger } from '../traffic/ledger.js';
import type { Ledger } from '../traffic/ledger.js';
import type { Stage } from '../traffic/scene.js';
import { createNames } from '../traffic/traffic.js';
import { temporaryFolder } from './cleanup.js';
import { freePort } from '../../ports.js';
import { createHttp } from './http.js';
import type { Http } from './http.js';
import { createRandom } from './random.js';
import { startReadyServer, startServer } from './server.js';
import type { Server } from './server.js';
import { readTokens } from './tokens.js';
import type { Tokens } from './tokens.js';

/** One installation: a folder, a port, and the successive processes that run on them. */
export interface Installation {
  readonly folder: string;
  readonly dataFolder: string;
  readonly port: number;
  readonly http: Http;
  readonly tokens: Tokens;
  readonly ledger: Ledger;
  readonly journal: Journal;
  /** To play scenes with. */
  readonly stage: Stage;
  /** The process of the moment. */
  readonly server: () => Server;
  /** Starts the next process and waits until it is ready. */
  readonly restart: (env?: Readonly<Record<string, string>>) => Promise<Server>;
  /** Starts the next process, which may not get far. */
  readonly startAnyhow: (env?: Readonly<Record<string, string>>) => Server;
  /** Stops the process in order and reads its log. */
  readonly stopAndRead: () => Promise<readonly Entry[]>;
}

/** Installs and starts Countersign on a folder (default: a temporary one) and a free port. */
export async function install(
  env: Readonly<Record<string, string>> = {},
  folder: string = temporaryFolder(),
  givenPort?: number,
): Promise<Installation> {
  const dataFolder = join(folder, 'data');
  const port = givenPort ?? (await freePort());
  let server = await startReadyServer({ folder, port, env });
  const [tokens, journal, http] = [readTokens(folder), createJournal(), createHttp(port)];
  const ledger = createLedger(http, tokens, journal, 'key');
  const startAnyhow = (more: Readonly<Record<string, string>> = {}): Server => {
    server = startServer({ folder, port, env: { ...env, ...more } });
    return server;
  };
  return {
    folder,
    dataFolder,
    port,
    http,
    tokens,
    ledger,
    journal,
    stage: { ledger, journal, random: createRandom(1), name: createNames('spec') },
    server: () => server,
    startAnyhow,
    restart: async (more) => {
      await startAnyhow(more).ready();
      return server;
    },
    stopAndRead: async () => {
      await server.stop();
      return readLogFile(join(dataFolder, 'events.db'));
    },
  };
}
