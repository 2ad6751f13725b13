import { Client, Metadata, status } from '@grpc/grpc-js';
import type { ServiceError } from '@grpc/grpc-js';
import type { Clock } from '@countersign/runtime';
import { readConnectionString, textOf, withoutSecrets } from './connection-string.js';
import type { StoreAddress } from './connection-string.js';
import { createMembers, credentialsOf } from './members.js';
import {
  appendRequests,
  createUserRequest,
  dataIn,
  deleteRequest,
  isConflict,
  readLastRequest,
  resetPasswordRequest,
  userDetailsRequest,
  userIn,
} from './rights-messages.js';
import type { ExpectedRevision } from './rights-messages.js';

/** The server did not respond, or refused the request for another reason than a missing right. */
export class RightsUnknownError extends Error {
  override readonly name = 'RightsUnknownError';
}

/**
 * `conflict`: allowed, and nothing was written, because the expected revision is not there. `exists`: a user of that name
 * has another password; `missing`: there is no such user.
 */
export type CallResult = 'done' | 'conflict' | 'denied' | 'not-authenticated' | 'exists' | 'missing';

/** A user's details; undefined unless the result is `done`. */
export interface UserFound {
  readonly result: CallResult;
  readonly details: { readonly groups: readonly string[]; readonly isDisabled: boolean } | undefined;
}

/** Calls about rights, as one user, to the leader. They need no client of a vendor. */
export interface RightsCalls {
  readonly append: (stream: string, expected: ExpectedRevision, type: string, data: unknown) => Promise<CallResult>;
  readonly remove: (stream: string, expected: ExpectedRevision) => Promise<CallResult>;
  readonly tombstone: (stream: string, expected: ExpectedRevision) => Promise<CallResult>;
  /** Reads the last event of a stream or of `$all`; its data as JSON, undefined when there is none. */
  readonly readLast: (stream: string) => Promise<{ readonly result: CallResult; readonly data: unknown }>;
  /** Also `done` for a user that exists with this password. */
  readonly createUser: (name: string, password: string) => Promise<CallResult>;
  readonly resetPassword: (name: string, password: string) => Promise<CallResult>;
  readonly user: (name: string) => Promise<UserFound>;
  readonly close: () => void;
}

const streams = '/event_store.client.streams.Streams';
const users = '/event_store.client.users.Users';
const answerMs = 5000;

/**
 * Opens calls to the leader of a connection string.
 * @throws RangeError when the connection string is not usable; RightsUnknownError when no leader is known.
 */
export async function openRightsCalls(url: string, clock: Clock): Promise<RightsCalls> {
  const address = readConnectionString(url);
  const { leader } = await createMembers(address, clock).look();
  const server = withoutSecrets(url);
  if (leader === undefined) throw new RightsUnknownError(`no leader of ${server} answers`);
  const client = new Client(textOf(leader), credentialsOf(address), { 'grpc.enable_retries': 0 });
  const call = createCall(client, headersOf(address), () => clock.now() + answerMs, server);
  const one = async (method: string, ...requests: readonly Uint8Array[]): Promise<CallResult> => {
    const { result, answers } = await call(method, requests);
    return result === 'done' && method.endsWith('/Append') && answers.some(isConflict) ? 'conflict' : result;
  };
  return {
    append: (...wanted) => one(`${streams}/Append`, ...appendRequests(...wanted)),
    remove: (stream, expected) => one(`${streams}/Delete`, deleteRequest(stream, expected)),
    tombstone: (stream, expected) => one(`${streams}/Tombstone`, deleteRequest(stream, expected)),
    readLast: async (stream) => {
      const { result, answers } = await call(`${streams}/Read`, [readLastRequest(stream)]);
      const [data] = answers.map(dataIn).filter((found) => found !== undefined);
      return { result, data: data === undefined || stream === '$all' ? undefined : parsed(data, stream) };
    },
    createUser: (name, password) => one(`${users}/Create`, createUserRequest(name, password)),
    resetPassword: (name, password) => one(`${users}/ResetPassword`, resetPasswordRequest(name, password)),
    user: async (name) => {
      const { result, answers } = await call(`${users}/Details`, [userDetailsRequest(name)]);
      const [details] = answers;
      if (result !== 'done') return { result, details: undefined };
      if (details === undefined) throw new RightsUnknownError(`${server} does not describe the user ${name}`);
      return { result, details: userIn(details) };
    },
    close: () => {
      client.close();
    },
  };
}

function parsed(data: Uint8Array, stream: string): unknown {
  try {
    return JSON.parse(Buffer.from(data).toString());
  } catch (error) {
    throw new RightsUnknownError(`the last event of ${stream} is no JSON`, { cause: error });
  }
}

function headersOf({ user, password = '', isEncrypted }: StoreAddress): Metadata {
  const metadata = new Metadata();
  metadata.set('requires-leader', 'true');
  // Without TLS the vendor's clients send no user, and a password must not cross the network in the clear.
  if (user === undefined || !isEncrypted) return metadata;
  metadata.set('authorization', `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`);
  return metadata;
}

interface Answered {
  readonly result: CallResult;
  readonly answers: readonly Uint8Array[];
}

type Call = (method: string, requests: readonly Uint8Array[]) => Promise<Answered>;

function createCall(client: Client, headers: Metadata, deadline: () => number, server: string): Call {
  const asBytes = (bytes: Uint8Array): Buffer => Buffer.from(bytes);
  return (method, requests) =>
    new Promise((resolve, reject) => {
      const answers: Uint8Array[] = [];
      // On the wire, unary and streaming calls are the same.
      const call = client.makeBidiStreamRequest(method, asBytes, asBytes, headers, { deadline: deadline() });
      call.on('data', (answer: Uint8Array) => answers.push(answer));
      call.on('error', (error: ServiceError) => {
        const result = resultOf(error);
        if (result === undefined) reject(new RightsUnknownError(`${server} does not answer: ${plain(error.details)}`));
        else resolve({ result, answers });
      });
      // A failed call ends, too, after its error.
      call.on('end', () => {
        resolve({ result: 'done', answers });
      });
      for (const request of requests) call.write(request);
      call.end();
    });
}

/** The reason in gRPC's message about a failed connection. */
function plain(details: string): string {
  return details
    .replace(/^No connection established\. Last error: (?:Error: )?/, '')
    .replace(/\.? ?Resolution note:.*$/, '')
    .replace(/^[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):[^]*$/, '$1')
    .replace(/^Deadline exceeded after [^]*$/, `it took longer than ${String(answerMs / 1000)} s`)
    .replace(
      /^Failed to connect \([^)]*\)$/,
      'it closed the connection, as a server with TLS does when a client says tls=false',
    );
}

function resultOf({ code, metadata }: ServiceError): CallResult | undefined {
  const [exception] = metadata.get('exception').map(String);
  if (exception === 'wrong-expected-version') return 'conflict';
  if (code === status.PERMISSION_DENIED || exception === 'access-denied') return 'denied';
  if (code === status.UNAUTHENTICATED) return 'not-authenticated';
  if (exception === 'user-not-found') return 'missing';
  // A busy server answers DEADLINE_EXCEEDED with the same exception.
  return exception === 'user-conflict' && code === status.FAILED_PRECONDITION ? 'exists' : undefined;
}
