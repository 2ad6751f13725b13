export { createSimulatedEventStore, createSimulatedLog } from './simulated-event-store.js';
export type {
  AppendFault,
  SimulatedEventStore,
  SimulatedEventStoreOptions,
  SimulatedLog,
} from './simulated-event-store.js';
export { createSimulatedRecordStreams } from './simulated-record-streams.js';
export type { RecordFault } from './simulated-record-streams.js';
export { eventStoreContract } from './event-store.contract.js';
export type { EventStoreContractOptions, OpenedEventStore } from './event-store.contract.js';
export { readable, sampleEvent, sampleEvents, sampleStream } from './sample-events.js';
export { createSparseStore } from './sparse-store.js';
export { createMeasuredClock } from './measured-clock.js';
export { watchTime } from './time-watch.js';
export { isRecentSqlite } from './embedded/database.js';
