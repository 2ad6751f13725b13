import type { MessageBus } from '@countersign/message-bus';
import type { Log } from '@countersign/runtime';
import { createBusApp } from '@countersign/shell';
import type { BusApp } from '@countersign/shell';
import { isTransientFailure } from './ledger.js';
import type { Ledger } from './ledger.js';
import { leaveUnread, LedgerModule } from './ledger.module.js';

/** What the consumer of the ledger needs. */
export interface LedgerAppOptions {
  readonly ledger: Ledger;
  readonly bus: MessageBus;
  /** The topic of the requests. */
  readonly topic: string;
  readonly log: Log;
}

/** How many runs are handled at once; those of one run wait for each other. */
const concurrency = 64;

/** The ledger as a Nest microservice: its `@EventPattern` handlers are what runs. */
export function createLedgerApp({ ledger, bus, topic, log }: LedgerAppOptions): Promise<BusApp> {
  return createBusApp({
    module: LedgerModule.of(ledger),
    log,
    bus,
    group: 'ledger',
    topics: [topic],
    concurrency,
    parse: leaveUnread,
    isTransient: isTransientFailure,
  });
}
