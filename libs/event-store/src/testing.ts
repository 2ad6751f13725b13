export { createSimulatedEventStore, createSimulatedLog } from './simulated-event-store.js';
export type { AppendFault, SimulatedEventStoreOptions, SimulatedLog } from './simulated-event-store.js';
