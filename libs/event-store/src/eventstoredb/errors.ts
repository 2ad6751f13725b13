import { noStream } from '../event-store.js';
import { ClosedChannelError } from './vendor-channels.js';

/** The meaning of a failed call for its caller. */
export type ErrorMeaning =
  /** Another writer was first; or this append was, once before. */
  | { readonly kind: 'conflict'; readonly actualRevision: number }
  /** Certainly nothing was written. `transient`: the next try may go to the right server, or find it ready. */
  | { readonly kind: 'not-written'; readonly transient: boolean }
  | { readonly kind: 'too-large' }
  | { readonly kind: 'stream-not-found' }
  | { readonly kind: 'stream-deleted' }
  /** The server responded: there is no answer to this question. It is well, and no retry helps. */
  | { readonly kind: 'refused-question' }
  /** It may be written or not: every error without a known meaning. `answered`: the server itself reported it. */
  | { readonly kind: 'unknown'; readonly timedOut: boolean; readonly answered?: true };

/** Our own deadline passed: the client did not settle its promise. */
export class NoAnswerError extends Error {
  override readonly name = 'NoAnswerError';
}

/** The call ended because its client was replaced; its result is unknown. */
export class ReplacedError extends Error {
  override readonly name = 'ReplacedError';
}

const unknown = { kind: 'unknown', timedOut: false } as const;
const timedOut = { kind: 'unknown', timedOut: true } as const;
const answeredLate = { kind: 'unknown', timedOut: false, answered: true } as const;
const turnedAway = { kind: 'not-written', transient: true } as const;
const refusedQuestion = { kind: 'refused-question' } as const;
const refused = { kind: 'not-written', transient: false } as const;

/** By the vendor's `type`, if there is one. `unavailable` and `unknown` are too general: the text decides (below). */
const byType: Readonly<Record<string, ErrorMeaning>> = {
  // Refused before the write. The client goes to the leader next time, and does not retry the call.
  'not-leader': turnedAway,
  'access-denied': refused,
  'maximum-append-size-exceeded': { kind: 'too-large' },
  'stream-not-found': { kind: 'stream-not-found' },
  'no-stream': { kind: 'stream-not-found' },
  'stream-deleted': { kind: 'stream-deleted' },
  // The server timed out on its own write, or dropped a duplicate of one in flight: either may be written.
  timeout: answeredLate,
  'deadline-exceeded': timedOut,
  cancelled: unknown,
};

/** By the text: the client has no type for these, or a too general one. The first match counts. */
const byText: readonly (readonly [RegExp, ErrorMeaning])[] = [
  [/No connection established|Name resolution failed|ECONNREFUSED|Failed to discover/i, turnedAway],
  // The server took the request off its queue without handling it.
  [/Server Is (Busy|Not Ready)/i, turnedAway],
  // `$all` is read from where an event begins, and from nowhere else.
  [/InvalidPosition|invalid position/i, refusedQuestion],
  [
    /MaximumAppend(Event)?SizeExceeded|Maximum Append (Event )?Size|message larger than max|message exceeds the maximum/i,
    { kind: 'too-large' },
  ],
];

/** By gRPC's own status code, for errors that reach us raw. */
const byCode: Readonly<Record<string, ErrorMeaning>> = {
  3: refusedQuestion,
  4: timedOut,
  10: answeredLate,
  7: refused,
  16: refused,
  ECONNREFUSED: turnedAway,
};

/** Classifies an error of the client. An unrecognised error has an unknown outcome: a retry is always safe. */
export function meaningOf(error: unknown): ErrorMeaning {
  if (error instanceof NoAnswerError) return timedOut;
  if (error instanceof ClosedChannelError) return turnedAway;
  if (typeof error !== 'object' || error === null) return unknown;
  const { type, code, message } = error as Readonly<Record<'type' | 'code' | 'message', unknown>>;
  if (type === 'wrong-expected-version') return conflict(error);
  return byType[textOf(type)] ?? byWords(textOf(message)) ?? byCode[textOf(code)] ?? unknown;
}

function byWords(message: string): ErrorMeaning | undefined {
  return byText.find(([pattern]) => pattern.test(message))?.[1];
}

function textOf(value: unknown): string {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : '';
}

function conflict(error: object): ErrorMeaning {
  const { actualVersion } = error as { readonly actualVersion?: unknown };
  return { kind: 'conflict', actualRevision: typeof actualVersion === 'bigint' ? Number(actualVersion) : noStream };
}
