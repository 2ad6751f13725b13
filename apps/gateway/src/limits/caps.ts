import type { Actor } from '@countersign/commands';
import { createRateLimit } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { ProblemError } from '@countersign/shell';
import { createFairTurns } from './fair-turns.js';
import type { FairTurns } from './fair-turns.js';
import { createQuota, principalKey } from './quota.js';
import type { Quota } from './quota.js';

/** What a request without a proved sender asks for. Each kind has a bucket of its own, so that none uses up another. */
export type StrangerRequest = 'page' | 'sign-in' | 'operations' | 'unproved';

/** What one principal, and one address without a principal, may use of the process. */
export interface Caps {
  /** Counts a request of a principal. @throws ProblemError `too-many-requests`. */
  readonly countRequest: (actor: Actor) => void;
  /**
   * Counts a request that no principal answers for, by its address. A proved principal is never counted here: a flood from its
   * address costs it nothing. @throws ProblemError `too-many-requests`.
   */
  readonly countStranger: (address: string, kind: StrangerRequest) => void;
  /** Requests with large bodies are handled one at a time, fairly between their principals. */
  readonly largeBodies: FairTurns;
  readonly streams: Quota;
  readonly waits: Quota;
}

export const requestsPerSecondDefault = 5000;
const streamsMax = 256;
const waitsMax = 1024;
/** A page of the inbox asks for ten files. The figures of `/metrics` cost some milliseconds. */
const strangersPerSecond: Readonly<Record<StrangerRequest, number>> = {
  page: 500,
  'sign-in': 100,
  operations: 100,
  unproved: 500,
};

/** The caps of one process. Time is read from the clock at each request; there are no timers. */
export function createCaps(clock: Pick<Clock, 'monotonic'>, requestsPerSecond = requestsPerSecondDefault): Caps {
  const mayRequest = createRateLimit({ burst: requestsPerSecond, perSecond: requestsPerSecond }, clock);
  const mayAsk = Object.fromEntries(
    Object.entries(strangersPerSecond).map(([kind, rate]) => [
      kind,
      createRateLimit({ burst: rate, perSecond: rate }, clock),
    ]),
  ) as Readonly<Record<StrangerRequest, (address: string) => boolean>>;
  return {
    countRequest: (actor) => {
      if (mayRequest(principalKey(actor))) return;
      throw new ProblemError(
        'too-many-requests',
        `a principal may send ${String(requestsPerSecond)} requests per second`,
      );
    },
    countStranger: (address, kind) => {
      if (mayAsk[kind](networkOf(address))) return;
      throw new ProblemError('too-many-requests', 'too many requests without a valid token come from this address');
    },
    largeBodies: createFairTurns(1),
    streams: createQuota(streamsMax, 'event streams'),
    waits: createQuota(waitsMax, 'waiting reads'),
  };
}

/** An IPv6 network of 64 bits is one subscriber's, with all its addresses. */
function networkOf(address: string): string {
  return address.includes('.') || !address.includes(':') ? address : address.split(':', 4).join(':');
}
