import type { ClientOutputBody, RequestApprovalBody, RequestToolCalls, ToolCallView } from '@countersign/contracts';
import type { Changes } from './changes.js';
import type { Client } from './client.js';
import { messageOf } from './errors.js';
import type { CallOptions } from './transport.js';

/** How long to retry, and the id that identifies a retry of the request. */
export interface RequestOptions extends CallOptions {
  /** Generated when missing. */
  readonly requestId?: string | undefined;
}

/**
 * How a worker sends requests: over HTTP, or as messages on Kafka. Each method resolves when the request is recorded,
 * and throws `CountersignError` when it is refused.
 */
export interface Requests {
  readonly toolCalls: (body: RequestToolCalls, options?: RequestOptions) => Promise<readonly ToolCallView[]>;
  readonly approval: (callId: string, question: RequestApprovalBody, options?: RequestOptions) => Promise<void>;
  readonly output: (callId: string, body: ClientOutputBody, options?: RequestOptions) => Promise<void>;
  readonly cancel: (callId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Cancels all open calls of a run. */
  readonly cancelRun: (runId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Collects the changes of a run's calls in `changes` until the signal aborts; after a gap: any call. */
  readonly listen: (runId: string, changes: Changes, signal: AbortSignal) => Promise<void>;
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
    listen: async (runId, changes, signal) => {
      try {
        // Live events, and one read of the run each time the stream opens, so that a gap hides nothing.
        for await (const event of client.events({ runId, after: 'now', signal, onOpen: changes.addAnything })) {
          if (event.callId !== null) changes.add(event.callId);
        }
      } catch (error) {
        changes.fail(error instanceof Error ? error : new Error(messageOf(error)));
      }
    },
    close: async () => undefined,
  };
}
