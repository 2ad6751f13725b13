import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { encodingRefusal, unencodedHeaders } from '@countersign/http-client';
import type { Clock, Secret } from '@countersign/runtime';
import { z } from 'zod';

/** A role that answers the other processes, and how a process shows that it may ask. */
export interface ProcessConnection {
  readonly url: URL;
  readonly token: Secret;
  /** The authority of its certificate; null: the system's. */
  readonly ca: string | null;
}

/** An answer, which may be of something else. */
export interface Exchanged {
  readonly status: number;
  readonly bytes: Buffer;
}

/** Sends requests to one process. */
export interface ProcessClient {
  /** @throws Error with the reason when there is no answer in time */
  readonly ask: (name: string, text: string, timeoutMs: number) => Promise<Exchanged>;
  readonly close: () => void;
}

const answerBytesMax = 4 * 1024 * 1024;
const problemSchema = z.object({ detail: z.string().max(1000) });

/** A client that keeps its connections. */
export function createProcessClient({ url, token, ca }: ProcessConnection, clock: Clock): ProcessClient {
  const isSafe = url.protocol === 'https:';
  const agent = isSafe
    ? new HttpsAgent({ keepAlive: true, ...(ca === null ? {} : { ca }) })
    : new HttpAgent({ keepAlive: true });
  const open = (name: string, text: string): ClientRequest =>
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
    ask: (name, text, timeoutMs) => exchange(open(name, text), text, (giveUp) => clock.setTimer(timeoutMs, giveUp)),
    close: () => {
      agent.destroy();
    },
  };
}

/** Why an answer is none: the role's own words, or its status. Any other answer may come from something else. */
export function whyNot({ status, bytes }: Exchanged): string {
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
      reject(new Error(error.code ?? error.message));
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
