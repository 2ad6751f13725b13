import { hash } from 'node:crypto';
import { provenKey } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { uuidV5 } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { refused } from './answer.js';
import type { Answer } from './answer.js';

/** A recorded request with an idempotency key. Its response is not kept: the log recognises the command. */
export interface KnownRequest {
  /** The hash of tenant, principal, method, path and key. */
  readonly scope: string;
  /** A short hash of the tenant and of the principal that was proved: the people of one front end share their number. */
  readonly owner: string;
  readonly bodyHash: string;
  /** The status of the first response: a repeat that succeeds has the same. */
  readonly status: number;
  /** The position of the log after it; 0: nothing was recorded. */
  readonly position: number;
  readonly storedAtMs: number;
}

/**
 * Where requests are remembered, a limited number per owner and in all. If one is lost, only this is lost: its key is
 * not refused with another body.
 */
export interface IdempotencyStore {
  readonly find: (scope: string) => KnownRequest | undefined;
  readonly save: (request: KnownRequest) => void;
  /** Forgets what was stored before a time. */
  readonly purge: (beforeMs: number) => void;
  /** Forgets everything. */
  readonly clear: () => void;
  readonly close: () => void;
}

/** Hashes a request: the id of the key of the hash, a colon, and the hash. Without the key its content can be guessed. */
export type RequestHash = (bytes: Uint8Array) => string;

/** For a gateway without keys. */
const unkeyed: RequestHash = (bytes) => `none:${hash('sha256', bytes)}`;

/** One request with an idempotency key. */
export interface KeyedRequest {
  readonly actor: Actor;
  /** Method and path, such as `POST /v1/tool-calls`. */
  readonly target: string;
  readonly key: string;
  /** The canonical form of its body. */
  readonly bytes: Uint8Array;
}

/** Makes a repeated request the same command. */
export interface Idempotency {
  /**
   * Runs the request. `commandId` is the same for every request with this key, so the log recognises a repeat, and the
   * response tells of now. Requests that run at the same time share one response.
   */
  readonly answer: (request: KeyedRequest, run: (commandId: string) => Promise<Answer>) => Promise<Answer>;
}

/** The dependencies of idempotency keys. */
export interface IdempotencyPorts {
  readonly store: IdempotencyStore;
  readonly clock: Clock;
  readonly log: Log;
  /** The hash of now. Default: without a key. */
  readonly requestHash?: (() => RequestHash) | undefined;
}

const namespace = '6f1b1c5e-2f67-5b0e-9d55-0f7f0c6f5a61';
/** A hash of another form says nothing: earlier versions hashed the bytes as they were sent. */
const form = 'jcs-';
/** How long the body of a request is remembered by its key. */
export const keyKeptMs = 24 * 60 * 60 * 1000;
const purgeEveryMs = 10 * 60 * 1000;

/** Idempotency keys over a store. */
export function createIdempotency({ store, clock, log, requestHash = () => unkeyed }: IdempotencyPorts): Idempotency {
  const running = new Map<string, { readonly bytes: Uint8Array; readonly answer: Promise<Answer> }>();
  let purgedAtMs = 0;

  const purgeNowAndThen = (): void => {
    const now = clock.now();
    if (now - purgedAtMs < purgeEveryMs) return;
    purgedAtMs = now;
    store.purge(now - keyKeptMs);
  };

  const remember = (request: KnownRequest): void => {
    try {
      store.save(request);
      purgeNowAndThen();
    } catch (error) {
      // The disk may be full. The command is recorded, so the response is sent.
      log.warn({ error }, 'an idempotency key could not be remembered; it is not refused with another body');
    }
  };

  const bodyHashOf = (bytes: Uint8Array): string => `${form}${requestHash()(bytes)}`;
  const run = async (
    { scope, owner, bytes }: First,
    known: KnownRequest | undefined,
    send: (commandId: string) => Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await send(uuidV5(namespace, scope));
    const { status, position = 0 } = answer;
    if (known !== undefined) return asRepeat(answer, known);
    // Hashed after it: an erasure changes the key of the hash.
    if (status < 400)
      remember({ scope, owner, bodyHash: bodyHashOf(bytes), status, position, storedAtMs: clock.now() });
    return answer;
  };

  return {
    answer: async ({ actor, target, key, bytes }, send) => {
      const { tenant, principal } = actor;
      const scope = hash('sha256', JSON.stringify([tenant, principal, target, key]));
      const first = running.get(scope);
      if (first !== undefined) {
        return Buffer.compare(first.bytes, bytes) === 0 ? { ...(await first.answer), isRepeat: true } : reused(key);
      }
      const known = store.find(scope);
      const kept = known !== undefined && clock.now() - known.storedAtMs < keyKeptMs ? known : undefined;
      if (kept !== undefined && isAnother(kept.bodyHash, bodyHashOf(bytes))) return reused(key);
      const owner = hash('sha256', JSON.stringify(provenKey(actor).split('\n'))).slice(0, 16);
      const answer = run({ scope, owner, bytes }, kept, send).finally(() => running.delete(scope));
      running.set(scope, { bytes, answer });
      return answer;
    },
  };
}

/** The members of a known request that do not depend on its response. */
type First = Pick<KnownRequest, 'scope' | 'owner'> & Pick<KeyedRequest, 'bytes'>;

/** The first request created something, and so its repeat says; whether it is still so is in the body. */
function asRepeat(answer: Answer, { status }: KnownRequest): Answer {
  return { ...answer, status: answer.status === 200 && status === 201 ? 201 : answer.status, isRepeat: true };
}

/** Hashes under two keys tell nothing. */
function isAnother(known: string, given: string): boolean {
  const keyIdOf = (hashed: string): string => hashed.slice(0, hashed.indexOf(':'));
  return known !== given && keyIdOf(known) === keyIdOf(given);
}

function reused(key: string): Answer {
  return refused({
    code: 'idempotency-key-reused',
    detail: `the idempotency key ${JSON.stringify(key)} was used for another body; use a new key for a new request`,
  });
}
