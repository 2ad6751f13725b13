export { createDeadlines } from './deadlines.js';
export type { Deadlines, DeadlinesPorts } from './deadlines.js';
export { createProjector } from './projector.js';
export type { Projector, ProjectorHealth, ProjectorPorts } from './projector.js';
