import { principalKey, provenKey } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { createCountedBuckets } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { ProblemError, requestsPerSecondDefault } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import { createFairTurns } from './fair-turns.js';
import type { FairTurns } from './fair-turns.js';
import { createPacedWork } from './paced-work.js';
import type { PacedWork } from './paced-work.js';
import { createQuota, frontEndTimes } from './quota.js';
import type { Quota } from './quota.js';

/** The kinds of unauthenticated requests. Each kind has its own bucket, so none uses up another's. */
export type StrangerRequest = 'page' | 'sign-in' | 'operations' | 'unproved';

/** The quotas of one principal, and of one address without a principal. */
export interface Caps {
  /** Counts a request of a principal, and says in its headers how many are left. @throws ProblemError `too-many-requests`. */
  readonly countRequest: (actor: Actor, request?: FastifyRequest) => void;
  /**
   * Counts an unauthenticated request by its address, and says in its headers how many are left. Requests of authenticated principals are never counted here, so a
   * flood from their address does not affect them. @throws ProblemError `too-many-requests`.
   */
  readonly countStranger: (request: FastifyRequest, kind: StrangerRequest) => void;
  /** The headers of a request that nothing counts: what a stranger may send. */
  readonly uncountedHeaders: readonly string[];
  /** Handles requests with large bodies one at a time, fairly between principals. */
  readonly largeBodies: FairTurns;
  /** Makes reports over the log one at a time, fairly between principals. */
  readonly reports: FairTurns;
  /** Makes and sends the answers of reads, with turns of others between those that take long. */
  readonly reads: PacedWork;
  readonly streams: Quota;
  readonly waits: Quota;
}

const streamsMax = 256;
const waitsMax = 1024;
/** A page of the inbox asks for ten files. The figures of `/metrics` cost some milliseconds. */
const strangersPerSecond: Readonly<Record<StrangerRequest, number>> = {
  page: 500,
  'sign-in': 100,
  operations: 100,
  unproved: 500,
};

/** The quotas of one process. It reads the clock at each request and has no timers. */
export function createCaps(clock: Pick<Clock, 'monotonic'>, requestsPerSecond = requestsPerSecondDefault): Caps {
  const rate = { burst: requestsPerSecond, perSecond: requestsPerSecond };
  const countRequest = createCountedBuckets(rate, clock);
  const perFrontEnd = requestsPerSecond * frontEndTimes;
  const countFrontEnd = createCountedBuckets({ burst: perFrontEnd, perSecond: perFrontEnd }, clock);
  // Attack: a front end names thousands of new people, so that the buckets of others are full.
  const peopleOf = new Map<string, ReturnType<typeof createCountedBuckets>>();
  const countPerson = (actor: Actor): ReturnType<typeof countRequest> => {
    const frontEnd = provenKey(actor);
    const all = countFrontEnd(frontEnd);
    if (all.waitMs > 0) return all;
    const count = peopleOf.get(frontEnd) ?? createCountedBuckets(rate, clock);
    peopleOf.set(frontEnd, count);
    return count(principalKey(actor));
  };
  const countStranger = Object.fromEntries(
    Object.entries(strangersPerSecond).map(([kind, rate]) => [
      kind,
      createCountedBuckets({ burst: rate, perSecond: rate }, clock),
    ]),
  ) as Readonly<Record<StrangerRequest, ReturnType<typeof createCountedBuckets>>>;
  return {
    countRequest: (actor, request) => {
      const isVouched = actor.vouchedBy !== undefined;
      const { waitMs, left } = isVouched ? countPerson(actor) : countRequest(principalKey(actor));
      if (request !== undefined) request.rateHeaders = headersOf('principal', left, requestsPerSecond);
      if (waitMs === 0) return;
      throw new ProblemError(
        'too-many-requests',
        `a principal may send ${String(requestsPerSecond)} requests per second` +
          (isVouched ? `, and the people of a front end ${String(perFrontEnd)} together` : ''),
      );
    },
    countStranger: (request, kind) => {
      const { waitMs, left } = countStranger[kind](networkOf(request.ip));
      request.rateHeaders = headersOf('address', left, strangersPerSecond[kind]);
      if (waitMs === 0) return;
      throw new ProblemError('too-many-requests', 'too many requests without a valid token come from this address');
    },
    uncountedHeaders: headersOf('address', strangersPerSecond.page, strangersPerSecond.page),
    largeBodies: createFairTurns(1),
    reports: createFairTurns(1),
    reads: createPacedWork(clock.monotonic),
    streams: createQuota(streamsMax, 'event streams'),
    waits: createQuota(waitsMax, 'waiting reads'),
  };
}

function headersOf(policy: 'principal' | 'address', left: number, perSecond: number): readonly string[] {
  const limit = `"${policy}";r=${String(left)};t=1`;
  return ['ratelimit', limit, 'ratelimit-policy', `"${policy}";q=${String(perSecond)};w=1`];
}

/** An IPv6 network of 64 bits belongs to one subscriber. */
function networkOf(address: string): string {
  return address.includes('.') || !address.includes(':') ? address : address.split(':', 4).join(':');
}
