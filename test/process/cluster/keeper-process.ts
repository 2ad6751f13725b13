import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAuthority } from '../../kafka-broker/certificates.js';
import { freePort } from '../../ports.js';
import { temporaryFolder } from '../harness/cleanup.js';
import { startServer } from '../harness/server.js';
import type { Server } from '../harness/server.js';

/** Short, so that a process that is stopped or gone delays nothing for long. */
export const loanMs = 3000;
const token = 'a-token-of-the-processes-of-this-test-cluster';
/** The keeper knows it too, and no process uses it. */
export const anotherToken = 'another-token-that-no-process-of-this-test-has';

export type Settings = Readonly<Record<string, string>>;

/** A keeper over TLS, ready. */
export interface KeeperProcess {
  readonly keeper: Server;
  /** Starts a keeper over the same folders and port, ready or not. */
  readonly startKeeper: (more?: Settings) => Promise<Server>;
  /** The settings of a process that borrows keys. */
  readonly borrowing: Settings;
  /** The folder of its keys. */
  readonly keysFolder: string;
  /** The folders that it writes to. */
  readonly folders: readonly string[];
}

/** The folder of the keys, by default an empty one, and settings that a keeper started later does not have. */
interface KeeperOptions {
  readonly keysFolder?: string;
  readonly more?: Settings;
}

/** Starts a keeper over an event store. */
export async function openKeeper(
  eventStoreUrl: string,
  { keysFolder = temporaryFolder(), more = {} }: KeeperOptions = {},
): Promise<KeeperProcess> {
  const [folder, secrets] = [temporaryFolder(), temporaryFolder()];
  const keeperPort = String(await freePort());
  const file = (name: string, text: string): string => {
    writeFileSync(join(secrets, name), text, { mode: 0o600 });
    return join(secrets, name);
  };
  const authority = createAuthority(secrets);
  const { cert, key } = authority.certify('keeper');
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: eventStoreUrl,
    COUNTERSIGN_KEYS_FOLDER: keysFolder,
    COUNTERSIGN_KEEPER_PORT: keeperPort,
    COUNTERSIGN_KEEPER_LOAN_MS: String(loanMs),
    COUNTERSIGN_KEEPER_TOKENS_FILE: file('tokens', `${anotherToken}\n${token}\n`),
    COUNTERSIGN_KEEPER_TLS_CERT_FILE: file('cert.pem', cert),
    COUNTERSIGN_KEEPER_TLS_KEY_FILE: file('key.pem', key),
  };
  const startKeeper = async (further: Settings = {}): Promise<Server> =>
    startServer({ folder, port: await freePort(), args: ['start', 'keeper'], env: { ...env, ...further } });
  const keeper = await startKeeper(more);
  await keeper.ready();
  const borrowing = {
    COUNTERSIGN_KEEPER_URL: `https://127.0.0.1:${keeperPort}`,
    COUNTERSIGN_KEEPER_TOKEN_FILE: file('token', `${token}\n`),
    COUNTERSIGN_KEEPER_CA_FILE: authority.caFile,
  };
  return { keeper, startKeeper, borrowing, keysFolder, folders: [folder, keysFolder] };
}
