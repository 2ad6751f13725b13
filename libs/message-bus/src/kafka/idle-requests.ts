// @ts-expect-error -- a file of kafkajs 2.2.4 that it declares no types of; what is used of it is below.
import RequestQueueOfKafkajs from 'kafkajs/src/network/requestQueue/index.js';

/** The queue of the requests on one connection. */
interface RequestQueue {
  readonly pending: readonly unknown[];
  /** Epoch milliseconds; the broker asked to be left alone until then. */
  readonly throttledUntil: number;
  throttleCheckTimeoutId: NodeJS.Timeout | null;
  readonly checkPendingRequests: () => void;
}

const againMs = 10;

/**
 * Ends the polling of an idle connection: kafkajs looks after requests that wait for their turn in a timer that sets
 * itself anew for ever, each millisecond and also when none waits, which costs every process a few hundredths of a core
 * and makes Node warn of a negative time (gh:tulios/kafkajs#1751). Here it is set only while a request waits: whatever
 * adds one sets it again.
 */
export function endIdlePolling(): void {
  const { prototype } = RequestQueueOfKafkajs as { readonly prototype: object };
  Object.assign(prototype, { scheduleCheckPendingRequests });
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
