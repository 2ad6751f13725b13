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
 * Mends two faults of the client, once for the process.
 *
 * It looks after requests that wait for their turn in a timer that sets itself anew for ever, each millisecond and also
 * when none waits, which costs every process a few hundredths of a core and makes Node warn of a negative time
 * (gh:tulios/kafkajs#1751). Here it is set only while a request waits: whatever adds one sets it again.
 *
 * And it stops looking for requests that take too long once it closes a connection: one that was under way then, and is
 * never answered, is never given up either, so whoever awaits it waits for ever. Here each request is given up in time.
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
