import { randomUUID } from 'node:crypto';
import { backoffMs, type EventView } from '@countersign/contracts';
import { linkedController } from '@countersign/http-client';
import { createChanges, type Changes } from '../ledger/changes.js';
import { CountersignError, messageOf } from '../errors.js';
import type { RequestOptions, Requests } from '../ledger/requests.js';
import { checkRequest } from './check-request.js';
import { createRefusalCheck } from './confirm-refusal.js';
import type { HeardEvent } from './heard-event.js';
import { publish, type PublishedRequest, type PublishPorts } from './publish-request.js';
import type { ReadPorts } from './reads-over-kafka.js';
import { principalOf, refusalOfRequest, type RequestFeed } from './request-feed.js';

/** The dependencies of requests over Kafka. */
export interface KafkaRequestsPorts extends PublishPorts, ReadPorts {
  readonly close: Requests['close'];
  readonly feed: RequestFeed;
  /** The principal of the agent's token, as the server knows it. */
  readonly principal: () => Promise<string>;
  readonly answerWithinMs: number;
}

/** A request, and how to see that the ledger has recorded it. */
export interface Asked<T> extends PublishedRequest {
  /** The refusal that is certain before it is published. */
  readonly refusal?: CountersignError | undefined;
  /** Returns whether the event is reason for a look. Default: each of the run is. */
  readonly hear?: ((event: HeardEvent) => boolean) | undefined;
  /** Undefined: not yet. */
  readonly look: (signal: AbortSignal) => Promise<T | undefined>;
}

/**
 * A message of the events topic triggers the look. Without one, after a duplicate that adds nothing or while the brokers
 * are away, a timer does.
 */
const lookBackoff = { firstMs: 1000, maxMs: 10_000 } as const;

/** Publishes a request, and waits until it is recorded or refused. */
export type Ask = <T>(asked: Asked<T>, options?: RequestOptions) => Promise<T>;

export function createAsk(ports: KafkaRequestsPorts): Ask {
  return async (asked, options = {}) => {
    checkRequest(asked);
    if (asked.refusal !== undefined) throw asked.refusal;
    const requestId = options.requestId ?? randomUUID();
    const changes = createChanges();
    const limit = linkedController(options.signal);
    let hindrance = 'the Kafka brokers have not confirmed the message';
    const hinder = (why: string): void => void (hindrance = why);
    const cancelTimer = ports.clock.setTimer(ports.answerWithinMs, () => {
      limit.abort(noAnswer(`${asked.type} ${requestId}`, ports.answerWithinMs, hindrance));
    });
    ports.known.follow(asked.runId);
    const releases = [
      ports.feed.watch({ runId: asked.runId, changes, hear: asked.hear }),
      watchRefusals(ports, { requestId, changes, signal: limit.signal, hinder }),
    ];
    try {
      await publish(ports, asked, requestId, limit.signal, hinder);
      hindrance = '';
      return await lookUntilFound(ports, asked, changes, limit.signal);
    } finally {
      for (const release of releases) release();
      cancelTimer();
      limit.abort(new Error('no longer waiting'));
      limit.release();
    }
  };
}

interface RefusalWait {
  readonly requestId: string;
  readonly changes: Changes;
  readonly signal: AbortSignal;
  readonly hinder: (why: string) => void;
}

/** Lets a refusal that the topic tells of, and the ledger confirms for the own principal, end the wait. */
function watchRefusals(
  { client, feed, principal }: KafkaRequestsPorts,
  { requestId, changes, signal, hinder }: RefusalWait,
): () => void {
  const judge = async (event: Pick<EventView, 'data'>): Promise<void> => {
    const error = refusalOfRequest(event, requestId, await principal());
    if (error !== undefined) changes.fail(error);
  };
  const onRefusal = (event: Pick<EventView, 'data'>): void => void judge(event).catch(onError);
  const onError = (error: unknown): void => {
    if (!signal.aborted) hinder(`the refusal on the events topic cannot be checked: ${messageOf(error)}`);
  };
  const { check } = createRefusalCheck(client, signal, onRefusal, onError);
  return feed.watchRefusal({
    requestId,
    onRumour: (rumour, position) => {
      const sender = principalOf(rumour) ?? 'no proven principal';
      const what = `the events topic has a refusal of the request (${rumour.message}) by ${sender}`;
      hinder(`${what}, but the ledger has none of the principal of this token`);
      check(position);
    },
  });
}

async function lookUntilFound<T>(
  { clock, random }: KafkaRequestsPorts,
  { look }: Asked<T>,
  changes: Changes,
  signal: AbortSignal,
): Promise<T> {
  for (let looks = 1; ; looks += 1) {
    const cancel = clock.setTimer(backoffMs(looks, lookBackoff, random), changes.addAnything);
    await changes.next(signal).finally(cancel);
    const found = await look(signal);
    if (found !== undefined) return found;
  }
}

function noAnswer(request: string, afterMs: number, hindrance: string): CountersignError {
  const message = `the ledger did not respond to ${request} within ${String(afterMs)} ms. It may still process the request. A retry adds no second one`;
  return new CountersignError({
    code: 'unreachable',
    message: hindrance === '' ? message : `${message}. Last problem: ${hindrance}`,
  });
}
