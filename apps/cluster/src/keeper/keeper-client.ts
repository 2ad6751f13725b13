import { KeysUnavailableError } from '@countersign/event-store';
import type { Clock } from '@countersign/runtime';
import { createProcessClient, whyNot } from '../process-client.js';
import type { ProcessConnection } from '../process-client.js';
import { envelope, requests } from './protocol.js';
import type { Answer, Body, RequestName, Version } from './protocol.js';

/** The keeper, and how a process shows that it may ask. */
export type KeeperConnection = ProcessConnection;

/** Sends requests to the keeper. */
export interface KeeperClient {
  /** @throws KeysUnavailableError; KeeperRefusedError for a wrong token. */
  readonly ask: <Name extends RequestName>(
    name: Name,
    body: Body<Name>,
    timeoutMs?: number,
  ) => Promise<{ readonly version: Version; readonly answer: Answer<Name> }>;
  readonly close: () => void;
}

/** The keeper does not know the token of this process. */
export class KeeperRefusedError extends Error {
  override readonly name = 'KeeperRefusedError';
}

const askMsMax = 5000;

/** A client of one process: `session` names it. */
export function createKeeperClient(connection: KeeperConnection, session: string, clock: Clock): KeeperClient {
  const client = createProcessClient(connection, clock);
  return {
    ask: async (name, body, timeoutMs = askMsMax) => {
      const text = JSON.stringify({ session, body });
      const exchanged = await client.ask(name, text, timeoutMs).catch((error: unknown) => {
        throw away((error as Error).message);
      });
      if (exchanged.status === 401) throw new KeeperRefusedError(refused);
      if (exchanged.status !== 200) throw away(whyNot(exchanged));
      const { version, answer } = envelope.answer.parse(JSON.parse(exchanged.bytes.toString('utf8')));
      return { version, answer: requests[name].answer.parse(answer) as Answer<typeof name> };
    },
    close: client.close,
  };
}

const refused =
  'the keeper does not know the token of this process: COUNTERSIGN_KEEPER_TOKEN_FILE must have one of the lines of the file that the keeper reads';

/** The error for an unreachable keeper. */
export function away(why: string): KeysUnavailableError {
  return new KeysUnavailableError(
    `the keeper of the keys cannot be asked, so sensitive values are neither recorded nor read: ${why}; repeating the request is safe`,
  );
}
