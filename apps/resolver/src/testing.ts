export { createMemoryExecutions, memoryRunId } from './testing/memory-executions.js';
export type { MemoryCall, MemoryExecutions } from './testing/memory-executions.js';
