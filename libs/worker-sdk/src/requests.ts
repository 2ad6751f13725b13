import type { ClientOutputBody, RequestApprovalBody, RequestToolCalls, ToolCallView } from '@countersign/contracts';
import type { Changes } from './changes.js';
import type { Client } from './client.js';
import { messageOf } from './errors.js';
import type { CallOptions } from './transport.js';

/** How long to try, and the id under which a repeat of the request is recognised. */
export interface RequestOptions extends CallOptions {
  /** One is made when it is missing. */
  readonly requestId?: string | undefined;
}

/**
 * What a worker asks the ledger for, by whatever way: over HTTP, or by messages on Kafka. Each resolves when what was
 * asked for is recorded, and throws `CountersignError` when it is refused.
 */
export interface Requests {
  readonly toolCalls: (body: RequestToolCalls, options?: RequestOptions) => Promise<readonly ToolCallView[]>;
  readonly approval: (callId: string, question: RequestApprovalBody, options?: RequestOptions) => Promise<void>;
  readonly output: (callId: string, body: ClientOutputBody, options?: RequestOptions) => Promise<void>;
  readonly cancel: (callId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Cancels all open calls of a run. */
  readonly cancelRun: (runId: string, reason: string, options?: RequestOptions) => Promise<void>;
  /** Puts what happens to the calls of a run into `changes` until the signal aborts; after a gap: anything. */
  readonly listen: (runId: string, changes: Changes, signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
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
        // Live events only, and a look at the run each time the stream opens: no gap can hide anything.
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
