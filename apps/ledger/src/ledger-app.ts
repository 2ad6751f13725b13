import type { Message, MessageBus } from '@countersign/message-bus';
import type { Log } from '@countersign/runtime';
import { createBusApp } from '@countersign/shell';
import type { BusApp, BusAppOptions } from '@countersign/shell';
import { isTransientFailure } from './ledger.js';
import type { Ledger } from './ledger.js';
import { LedgerModule } from './ledger.module.js';

/** The dependencies of the ledger's consumer. */
export interface LedgerAppOptions {
  readonly ledger: Ledger;
  readonly bus: MessageBus;
  /** The topic of the requests. */
  readonly topic: string;
  readonly log: Log;
  readonly tracing?: BusAppOptions['tracing'];
}

/** How many runs are handled at once. The requests of one run are handled in order. */
const runsAtOnce = 64;

/** So many requests of one producer may wait before those behind them are not seen. Small ones: the bytes are bounded too. */
const requestsInMemory = 4096;

/** The ledger parses the data itself, with the strict parser. */
const leaveUnread = (message: Message): Message => message;

/** The ledger as a Nest microservice: its `@EventPattern` handlers are what runs. */
export function createLedgerApp({ ledger, bus, topic, log, tracing }: LedgerAppOptions): Promise<BusApp> {
  return createBusApp({
    module: LedgerModule.of(ledger),
    log,
    bus,
    tracing,
    group: 'ledger',
    topics: [topic],
    concurrency: runsAtOnce,
    inFlightMax: requestsInMemory,
    placeOf: ledger.placeOf,
    takeTurn: ledger.takeTurn,
    parse: leaveUnread,
    isTransient: isTransientFailure,
  });
}
