import { Kafka, logLevel } from 'kafkajs';
import type { KafkaConfig } from 'kafkajs';
// @ts-expect-error -- a file of kafkajs 2.2.4 that it declares no types of; what is used of it is below.
import RequestQueue from 'kafkajs/src/network/requestQueue/index.js';

interface Queue {
  readonly pending: readonly unknown[];
}

const { prototype } = RequestQueue as { readonly prototype: { scheduleCheckPendingRequests: (this: Queue) => void } };
const { scheduleCheckPendingRequests } = prototype;

/**
 * A client of the test's own, without the product's. kafkajs checks its queue each millisecond, also when no request waits
 * (gh:tulios/kafkajs#1751): for each connection a fortieth of a core during the whole spec. Here only a queue with requests is checked.
 */
export function createKafkaClient(config: KafkaConfig): Kafka {
  prototype.scheduleCheckPendingRequests = function (this: Queue): void {
    if (this.pending.length > 0) scheduleCheckPendingRequests.call(this);
  };
  return new Kafka({ logLevel: logLevel.NOTHING, ...config });
}
