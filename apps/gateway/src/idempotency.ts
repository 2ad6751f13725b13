import { hash } from 'node:crypto';
import type { Actor } from '@countersign/commands';
import { uuidV5 } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { refused } from './answer.js';
import type { Answer } from './answer.js';

/** A sent response, by the hash of its request. */
export interface StoredAnswer {
  readonly bodyHash: string;
  readonly status: number;
  /** The body as JSON text. */
  readonly body: string;
  readonly position: number | null;
  readonly storedAtMs: number;
}

/**
 * Where sent responses are kept. If they are lost, only the exact wording of the first response is lost: the log
 * recognises the command.
 */
export interface IdempotencyStore {
  readonly find: (scope: string) => StoredAnswer | undefined;
  readonly save: (scope: string, answer: StoredAnswer) => void;
  /** Forgets what was stored before a time. */
  readonly purge: (beforeMs: number) => void;
  /** Forgets everything. */
  readonly clear: () => void;
  readonly close: () => void;
}

/** Encrypts sent responses, and hashes requests so that their content cannot be guessed without the key. */
export interface AnswerSeal {
  readonly hash: (bytes: Uint8Array) => string;
  readonly close: (text: string) => string;
  /** Undefined: the key is destroyed, and the response with it. */
  readonly open: (stored: string) => string | undefined;
}

/** For a gateway without keys. */
const unsealed: AnswerSeal = {
  hash: (bytes) => hash('sha256', bytes),
  close: (text) => text,
  open: (stored) => stored,
};

/** One request with an idempotency key. */
export interface KeyedRequest {
  readonly actor: Actor;
  /** Method and path, such as `POST /v1/tool-calls`. */
  readonly target: string;
  readonly key: string;
  readonly bytes: Uint8Array;
}

/** Returns the first response again for a repeated request. */
export interface Idempotency {
  /** Runs the request, or returns the first response of its key. `commandId` is the same for every retry. */
  readonly answer: (request: KeyedRequest, run: (commandId: string) => Promise<Answer>) => Promise<Answer>;
}

/** The dependencies of idempotency keys. */
export interface IdempotencyPorts {
  readonly store: IdempotencyStore;
  readonly clock: Clock;
  readonly log: Log;
  /** Default: responses are stored as they were sent. */
  readonly seal?: (() => AnswerSeal) | undefined;
}

const namespace = '6f1b1c5e-2f67-5b0e-9d55-0f7f0c6f5a61';
const keptMs = 24 * 60 * 60 * 1000;
const purgeEveryMs = 10 * 60 * 1000;

/**
 * Idempotency keys over a store. A crash between the append and the storing of the response does no harm: the retry has
 * the same command id, and the write side recognises it.
 */
export function createIdempotency({
  store,
  clock,
  log,
  seal: currentSeal = () => unsealed,
}: IdempotencyPorts): Idempotency {
  const running = new Map<string, { readonly bodyHash: string; readonly answer: Promise<Answer> }>();
  let purgedAtMs = 0;

  const purgeNowAndThen = (): void => {
    const now = clock.now();
    if (now - purgedAtMs < purgeEveryMs) return;
    purgedAtMs = now;
    store.purge(now - keptMs);
  };

  const runFirst = async (
    scope: string,
    bodyHash: string,
    seal: AnswerSeal,
    run: (commandId: string) => Promise<Answer>,
  ): Promise<Answer> => {
    const answer = await run(uuidV5(namespace, `${scope}:${bodyHash}`));
    if (!isDecided(answer.status)) return answer;
    const { status, body, position = null } = answer;
    try {
      store.save(scope, {
        bodyHash,
        status,
        body: seal.close(JSON.stringify(body)),
        position,
        storedAtMs: clock.now(),
      });
      purgeNowAndThen();
    } catch (error) {
      // The disk may be full. The command is recorded, so the response is sent although it cannot be stored.
      log.warn({ error }, 'a response could not be stored; a retry of its request is recognised only by the log');
    }
    return answer;
  };

  return {
    answer: async ({ actor, target, key, bytes }, run) => {
      // One key for the whole request: an erasure may replace the current one meanwhile.
      const seal = currentSeal();
      const scope = hash('sha256', JSON.stringify([actor.tenant, actor.principal, target, key]));
      const bodyHash = seal.hash(bytes);
      const first = running.get(scope);
      if (first !== undefined) return first.bodyHash === bodyHash ? first.answer : reused(key);
      const stored = store.find(scope);
      const body = stored === undefined ? undefined : seal.open(stored.body);
      if (stored !== undefined && body !== undefined && clock.now() - stored.storedAtMs < keptMs) {
        return stored.bodyHash === bodyHash ? toAnswer({ ...stored, body }) : reused(key);
      }
      const answer = runFirst(scope, bodyHash, seal, run).finally(() => running.delete(scope));
      running.set(scope, { bodyHash, answer });
      return answer;
    },
  };
}

/** Returns whether a response is final. A server error or a temporary refusal is retried. */
function isDecided(status: number): boolean {
  return status < 500 && status !== 429 && status !== 408;
}

function toAnswer({ status, body, position }: StoredAnswer): Answer {
  return { status, body: JSON.parse(body) as unknown, ...(position === null ? {} : { position }) };
}

function reused(key: string): Answer {
  return refused({
    code: 'idempotency-key-reused',
    detail: `the idempotency key ${JSON.stringify(key)} was used for another body; use a new key for a new request`,
  });
}
