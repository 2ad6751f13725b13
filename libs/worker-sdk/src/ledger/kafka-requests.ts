import type { Client } from './client.js';
import type { WorkerLog } from '../log.js';
import type { Requests } from './requests.js';
import type { Transport } from './transport.js';

/** The parts of a worker that requests over Kafka use. */
export interface RequestingWorker {
  readonly client: Client;
  /** For claims and outcomes. */
  readonly resolver: Client;
  readonly transport: Transport;
  readonly agentId: string;
  readonly log: WorkerLog;
}

/** The requests of a worker, and a client for its claims and reports. */
export interface KafkaSide {
  readonly requests: Requests;
  readonly resolver: Client;
}

/** Requests over Kafka for the option `kafka` of a worker. `kafka()` of `@countersign/worker-sdk/kafka` makes it. */
export interface KafkaRequests {
  /** Called by `createWorker`, once for each worker. */
  readonly open: (worker: RequestingWorker) => KafkaSide;
}
