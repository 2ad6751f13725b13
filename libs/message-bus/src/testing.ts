export { messageBusContract } from './message-bus.contract.js';
export type { ContractMessage, MessageBusHarness } from './message-bus.contract.js';
export { eventually } from './testing/eventually.js';
export { createMemoryLog } from './testing/memory-log.js';
export type { MemoryLog, MemoryLogEvent } from './testing/memory-log.js';
