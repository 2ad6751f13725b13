export { createBatchCloser } from './batch-closer.js';
export type { BatchCloserPorts } from './batch-closer.js';
export { createDeadlines } from './deadlines.js';
export type { Deadlines, DeadlinesPorts } from './deadlines.js';
export { createProjectorMetrics } from './metrics.js';
export type { ProjectorMetrics, ProjectorSources } from './metrics.js';
export { createProjectorCheck } from './projector-check.js';
export { createProjector } from './projector.js';
export type { Projector, ProjectorHealth, ProjectorPorts } from './projector.js';
