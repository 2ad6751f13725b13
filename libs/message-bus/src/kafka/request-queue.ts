// @ts-expect-error -- a file of kafkajs 2.2.4 that it declares no types of; what is used of it is below.
import RequestQueueOfKafkajs from 'kafkajs/src/network/requestQueue/index.js';

/** The queue of the requests on one connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  readonly inflight: ReadonlyMap<unknown, SentRequest>;
  /** Epoch milliseconds; the broker asked to be left alone until then. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  requestTimeoutIntervalId?: NodeJS.Timeout;
  readonly isConnected: () => boolean;
  readonly checkPendingRequests: () => void;
  readonly destroy: () => void;
}

interface SentRequest {
  /** Epoch milliseconds. */
  readonly sentAt: number;
  readonly requestTimeout: number;
  readonly timeoutRequest: () => void;
}

const againMs = 10;
const timeoutsEveryMs = 100;

/**
 * Fixes two faults of the client, once per process.
 *
 * It checks its queued requests with a timer that restarts itself every millisecond, also when none waits; that costs
 * every process a few hundredths of a core and makes Node warn of a negative time (gh:tulios/kafkajs#1751). Here the
 * timer runs only while a request waits.
 *
 * And it stops checking for timeouts once it closes a connection: a request in flight that never gets a response then
 * never ends. Here each request ends with its timeout.
 */
export function mendRequestQueue(): void {
  const { prototype } = RequestQueueOfKafkajs as { readonly prototype: object };
  Object.assign(prototype, { scheduleCheckPendingRequests, scheduleRequestTimeoutCheck, destroy });
}

function scheduleCheckPendingRequests(this: RequestQueue): void {
  if (this.pending.length === 0 || this.throttleCheckTimeoutId !== null) return;
  const throttledMs = this.throttledUntil - Date.now();
  this.throttleCheckTimeoutId = setTimeout(
    () => {
      this.throttleCheckTimeoutId = null;
      this.checkPendingRequests();
    },
    throttledMs > 0 ? throttledMs : againMs,
  );
}

function scheduleRequestTimeoutCheck(this: RequestQueue): void {
  clearInterval(this.requestTimeoutIntervalId);
  this.requestTimeoutIntervalId = setInterval(() => {
    const now = Date.now();
    for (const request of [...this.inflight.values()]) {
      if (now - request.sentAt > request.requestTimeout) request.timeoutRequest();
    }
    if (!this.isConnected()) this.destroy();
  }, timeoutsEveryMs);
}

function destroy(this: RequestQueue): void {
  if (this.inflight.size === 0) clearInterval(this.requestTimeoutIntervalId);
  if (this.throttleCheckTimeoutId !== null) clearTimeout(this.throttleCheckTimeoutId);
  this.throttleCheckTimeoutId = null;
}
