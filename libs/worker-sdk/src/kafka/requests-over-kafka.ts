import { randomUUID } from 'node:crypto';
import { backoffMs, isSettled, type ToolCallView } from '@countersign/contracts';
import { createChanges, type Changes } from '../changes.js';
import { linkedController } from '@countersign/http-client';
import type { Client } from '../client.js';
import { CountersignError, isRefusal, messageOf } from '../errors.js';
import { callsOfRun } from '../read-run.js';
import { rejectOnAbort } from '../reject-on-abort.js';
import type { RequestOptions, Requests } from '../requests.js';
import { checkRequest } from './check-request.js';
import { isShownResult, recordedCalls } from './recorded.js';
import { connectedWithin, publish, type PublishedRequest, type PublishPorts } from './publish-request.js';
import type { RequestFeed } from './request-feed.js';

/** The dependencies of requests over Kafka. */
export interface KafkaRequestsPorts extends PublishPorts {
  /** Reads what became of a request: the ledger's word counts, not that of a topic. */
  readonly client: Client;
  readonly close: Requests['close'];
  readonly feed: RequestFeed;
  readonly answerWithinMs: number;
}

/** A request, and how to see that the ledger has recorded it. */
interface Asked<T> extends PublishedRequest {
  /** The refusal that is certain before it is published. */
  readonly refusal?: CountersignError | undefined;
  /** Undefined: not yet. */
  readonly look: (signal: AbortSignal) => Promise<T | undefined>;
}

/**
 * A message of the events topic triggers the read. Without one, for example after a duplicate that adds nothing, a
 * timer does.
 */
const lookBackoff = { firstMs: 500, maxMs: 5000 } as const;

/**
 * Requests as messages. Messages on the events topic trigger a read of the ledger over HTTP, which decides; a
 * `RequestRefused` in the ledger's own log ends the wait with its code.
 */
export function requestsOverKafka(ports: KafkaRequestsPorts): Requests {
  const { client, clock, feed } = ports;

  const ask = async <T>(asked: Asked<T>, options: RequestOptions = {}): Promise<T> => {
    checkRequest(asked);
    if (asked.refusal !== undefined) throw asked.refusal;
    const requestId = options.requestId ?? randomUUID();
    const changes = createChanges();
    const limit = linkedController(options.signal);
    let hindrance = 'the Kafka brokers have not confirmed the message';
    const hinder = (why: string): void => void (hindrance = why);
    const cancelTimer = clock.setTimer(ports.answerWithinMs, () => {
      limit.abort(noAnswer(`${asked.type} ${requestId}`, ports.answerWithinMs, hindrance));
    });
    const release = feed.watch({
      runId: asked.runId,
      requestId,
      changes,
      onRumour: ({ message }) =>
        hinder(`the events topic has a refusal of the request (${message}), but the ledger has none`),
    });
    try {
      await publish(ports, asked, requestId, limit.signal, hinder);
      hindrance = '';
      return await lookUntilFound(ports, asked, changes, limit.signal);
    } finally {
      release();
      cancelTimer();
      limit.release();
    }
  };
  const askAbout = async (
    callId: string,
    options: RequestOptions | undefined,
    request: (call: ToolCallView) => Omit<Asked<unknown>, 'runId' | 'look'> & { readonly done: IsDone },
  ): Promise<void> => {
    const before = await client.getToolCall(callId, { signal: options?.signal });
    const { done, ...asked } = request(before);
    const look = async (signal: AbortSignal): Promise<true | undefined> =>
      done(await client.getToolCall(callId, { signal, attempts: Infinity })) ? true : undefined;
    await ask({ ...asked, runId: before.runId, look }, options);
  };

  return {
    toolCalls: (body, options) => {
      const look = async (signal: AbortSignal): Promise<readonly ToolCallView[] | undefined> =>
        recordedCalls(body, await callsIfAny(client, body.runId, signal));
      return ask({ type: 'ToolCallRequested', runId: body.runId, data: body, look }, options);
    },
    approval: (callId, question, options) =>
      askAbout(callId, options, ({ runId, toolCallId, state, approval }) => ({
        type: 'ApprovalRequested',
        data: { runId, toolCallId, ...question },
        refusal:
          state === 'awaiting_approval' ? refusal('already-pending', `people are asked about ${callId}`) : undefined,
        done: (call) => call.state === 'awaiting_approval' || (call.approval?.round ?? 0) > (approval?.round ?? 0),
      })),
    output: (callId, body, options) =>
      askAbout(callId, options, (before) => ({
        type: 'ToolOutputSubmitted',
        data: { runId: before.runId, toolCallId: before.toolCallId, ...body },
        refusal: hasResult(before) ? alreadySettled(before) : undefined,
        done: (call) => {
          // Another client was faster: the ledger has refused our result, or will.
          if (hasResult(call) && !isShownResult(body, call)) throw alreadySettled(call);
          return hasResult(call);
        },
      })),
    cancel: (callId, reason, options) =>
      askAbout(callId, options, (before) => ({
        type: 'ToolCallCancelled',
        data: { runId: before.runId, toolCallId: before.toolCallId, reason },
        refusal: isSettled(before.state) ? alreadySettled(before) : undefined,
        done: (call) => {
          if (isSettled(call.state) && call.state !== 'cancelled') throw alreadySettled(call);
          return call.state === 'cancelled';
        },
      })),
    cancelRun: async (runId, reason, options) => {
      const look = async (signal: AbortSignal): Promise<true | undefined> => {
        const calls = await callsIfAny(client, runId, signal);
        if (calls.length === 0) throw refusal('not-found', `there is no run ${runId}`);
        return calls.some(isOpen) ? undefined : true;
      };
      // Also for an unknown run: its calls may be on the topic, before this message.
      await ask({ type: 'ToolCallCancelled', runId, data: { runId, reason }, look }, options);
    },
    listen: async (runId, changes, signal) => {
      const release = feed.watch({ runId, changes });
      const aborted = rejectOnAbort(signal);
      try {
        await connectedWithin(ports, signal);
        // Covers what happened before the topic was read.
        changes.addAnything();
        await aborted.promise;
      } catch (error) {
        if (!signal.aborted) changes.fail(error instanceof Error ? error : new Error(messageOf(error)));
      } finally {
        aborted.release();
        release();
      }
    },
    close: ports.close,
  };
}

type IsDone = (call: ToolCallView) => boolean;

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

async function callsIfAny(client: Client, runId: string, signal: AbortSignal): Promise<readonly ToolCallView[]> {
  try {
    return await callsOfRun(client, runId, { signal, attempts: Infinity });
  } catch (error) {
    if (isRefusal(error, 'not-found')) return [];
    throw error;
  }
}

function isOpen({ state }: ToolCallView): boolean {
  return state === 'awaiting_approval' || state === 'allowed' || state === 'approved';
}

function hasResult({ state }: ToolCallView): boolean {
  return state === 'succeeded' || state === 'failed';
}

function alreadySettled({ callId, state }: ToolCallView): CountersignError {
  return refusal('already-settled', `${callId} is ${state}`);
}

function refusal(code: string, detail: string): CountersignError {
  return new CountersignError({ code, message: `${code}: ${detail}` });
}

function noAnswer(request: string, afterMs: number, hindrance: string): CountersignError {
  const message = `the ledger did not respond to ${request} within ${String(afterMs)} ms. It may still process the request. A retry adds no second one`;
  return new CountersignError({
    code: 'unreachable',
    message: hindrance === '' ? message : `${message}. Last problem: ${hindrance}`,
  });
}
