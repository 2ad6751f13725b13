import type {
  ClientOutputBody,
  EventView,
  RequestApprovalBody,
  RequestToolCalls,
  ToolCallView,
} from '@countersign/contracts';
import type { Changes } from './changes.js';
import type { Client } from './client.js';
import { messageOf } from '../errors.js';
import { callsOfState } from './read-run.js';
import type { RunState } from '../state.js';
import type { CallOptions } from './transport.js';

/** How long to retry, and the id that identifies a retry of the request. */
export interface RequestOptions extends CallOptions {
  /** Generated when missing. */
  readonly requestId?: string | undefined;
}

/** How a worker looks at calls. */
export interface CallReads {
  /** The calls of a state, and perhaps others of its run, as the ledger has them now. */
  readonly callsNow: (state: RunState, options?: CallOptions) => Promise<readonly ToolCallView[]>;
  /** The same for a caller that waits: what has just happened may be missing, and an event tells of it. */
  readonly calls: CallReads['callsNow'];
  /** One call, for a caller that waits. */
  readonly call: (callId: string, options?: CallOptions) => Promise<ToolCallView>;
  /** The call after this worker has tried to run it. */
  readonly afterRun: (callId: string, options?: CallOptions) => Promise<ToolCallView>;
}

/** An event as a reason to look for calls. */
export type RunNews = Pick<EventView, 'runId' | 'agentId'>;

/**
 * How a worker sends requests: over HTTP, or as messages on Kafka. Each method resolves when the request is recorded,
 * and throws `CountersignError` when it is refused.
 */
export interface Requests extends CallReads {
  readonly toolCalls: (body: RequestToolCalls, options?: RequestOptions) => Promise<readonly ToolCallView[]>;
  readonly approval: (callId: string, question: RequestApprovalBody, options?: RequestOptions) => Promise<void>;
  readonly output: (callId: string, body: ClientOutputBody, options?: RequestOptions) => Promise<void>;
  readonly cancel: (callId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Cancels all open calls of a run. */
  readonly cancelRun: (runId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Collects the changes of a run's calls in `changes` until the signal aborts; after a gap: any call. */
  readonly listen: (runId: string, changes: Changes, signal: AbortSignal) => Promise<void>;
  /** Hands over the events of some types in any run, until the signal aborts. `changes` hears of gaps and of the end. */
  readonly listenFor: (
    types: readonly string[],
    changes: Pick<Changes, 'addAnything' | 'fail'>,
    onNews: (news: RunNews) => void,
    signal: AbortSignal,
  ) => Promise<void>;
  /** Closes the connections. Resolves then, or after `graceMs`. */
  readonly close: (graceMs: number) => Promise<void>;
}

/** Requests by the HTTP API, and news from its event stream. */
export function requestsOverHttp(client: Client): Requests {
  const keyed = ({ requestId, ...options }: RequestOptions = {}): CallOptions => ({
    ...options,
    idempotencyKey: requestId ?? options.idempotencyKey,
  });
  return {
    toolCalls: (body, options) => client.requestToolCalls(body, keyed(options)),
    approval: async (callId, question, options) => {
      await client.requestApproval(callId, question, keyed(options));
    },
    output: async (callId, body, options) => {
      await client.submitOutput(callId, body, keyed(options));
    },
    cancel: async (callId, reason, options) => {
      await client.cancel(callId, reason, keyed(options));
    },
    cancelRun: async (runId, reason, options) => {
      await client.cancelRun(runId, reason, keyed(options));
    },
    callsNow: (state, options = {}) => callsOfState(client, state, options),
    calls: (state, options = {}) => callsOfState(client, state, options),
    call: client.getToolCall,
    afterRun: client.getToolCall,
    // Live events, and one read each time the stream opens, so that a gap hides nothing.
    listen: (runId, changes, signal) =>
      untilOver(changes, async () => {
        for await (const event of client.events({ runId, after: 'now', signal, onOpen: changes.addAnything })) {
          if (event.callId !== null) changes.add(event.callId);
        }
      }),
    listenFor: (types, changes, onNews, signal) =>
      untilOver(changes, async () => {
        for await (const event of client.events({ types, after: 'now', signal, onOpen: changes.addAnything }))
          onNews(event);
      }),
    close: async () => undefined,
  };
}

async function untilOver(changes: Pick<Changes, 'fail'>, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (error) {
    changes.fail(error instanceof Error ? error : new Error(messageOf(error)));
  }
}
