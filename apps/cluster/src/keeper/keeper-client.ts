import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { KeysUnavailableError } from '@countersign/event-store';
import { encodingRefusal, unencodedHeaders } from '@countersign/http-client';
import type { Clock, Secret } from '@countersign/runtime';
import { envelope, problemSchema, requests } from './protocol.js';
import type { Answer, Body, RequestName, Version } from './protocol.js';

/** The keeper, and how a process shows that it may ask. */
export interface KeeperConnection {
  readonly url: URL;
  readonly token: Secret;
  /** The authority of the keeper's certificate; null: the system's. */
  readonly ca: string | null;
}

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
const answerBytesMax = 4 * 1024 * 1024;

/** A client of one process: `session` names it. */
export function createKeeperClient({ url, token, ca }: KeeperConnection, session: string, clock: Clock): KeeperClient {
  const isSafe = url.protocol === 'https:';
  const agent = isSafe
    ? new HttpsAgent({ keepAlive: true, ...(ca === null ? {} : { ca }) })
    : new HttpAgent({ keepAlive: true });
  const open = (name: RequestName, text: string): ClientRequest =>
    (isSafe ? httpsRequest : httpRequest)(new URL(`/v1/${name}`, url), {
      method: 'POST',
      agent,
      headers: {
        ...unencodedHeaders,
        authorization: `Bearer ${token.reveal()}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(text)),
      },
    });
  return {
    ask: async (name, body, timeoutMs = askMsMax) => {
      const text = JSON.stringify({ session, body });
      const { status, bytes } = await exchange(open(name, text), text, (giveUp) => clock.setTimer(timeoutMs, giveUp));
      if (status === 401) throw new KeeperRefusedError(refused);
      if (status !== 200) throw away(whyNot(status, bytes));
      const { version, answer } = envelope.answer.parse(JSON.parse(bytes.toString('utf8')));
      return { version, answer: requests[name].answer.parse(answer) as Answer<typeof name> };
    },
    close: () => {
      agent.destroy();
    },
  };
}

/** The keeper says why it is unavailable. Any other answer may come from something else. */
function whyNot(status: number, bytes: Buffer): string {
  const problem = status === 503 ? problemSchema.safeParse(parsed(bytes)) : undefined;
  return problem?.success === true ? problem.data.detail : `it answered with status ${String(status)}`;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return undefined;
  }
}

const refused =
  'the keeper does not know the token of this process: COUNTERSIGN_KEEPER_TOKEN_FILE must have one of the lines of the file that the keeper reads';

/** The error for an unreachable keeper. */
export function away(why: string): KeysUnavailableError {
  return new KeysUnavailableError(
    `the keeper of the keys cannot be asked, so sensitive values are neither recorded nor read: ${why}; repeating the request is safe`,
  );
}

interface Exchanged {
  readonly status: number;
  readonly bytes: Buffer;
}

function exchange(
  asking: ClientRequest,
  text: string,
  setTimer: (giveUp: () => void) => () => void,
): Promise<Exchanged> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException): void => {
      cancel();
      asking.destroy();
      // The code alone: a message may have addresses.
      reject(away(error.code ?? error.message));
    };
    const cancel = setTimer(() => fail(new Error('no answer in time')));
    asking.on('error', fail);
    asking.once('response', (response) => {
      const refusal = encodingRefusal(response.headers['content-encoding']);
      if (refusal !== undefined) {
        fail(refusal);
        return;
      }
      const chunks: Buffer[] = [];
      let length = 0;
      response.on('error', fail);
      response.on('data', (chunk: Buffer) => {
        chunks.push(chunk);
        length += chunk.length;
        if (length > answerBytesMax) fail(new Error('its answer is too long'));
      });
      response.once('end', () => {
        cancel();
        resolve({ status: response.statusCode ?? 0, bytes: Buffer.concat(chunks) });
      });
    });
    asking.end(text);
  });
}
