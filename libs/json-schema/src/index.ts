export { checkValue } from './check-value.js';
export type { CheckResult } from './check-value.js';
export { schemaLimits } from './limits.js';
export { hasMark, markedPlaces } from './marks.js';
export { prepareSchema } from './prepare-schema.js';
export type { Preparation, PreparedSchema, SchemaNote } from './prepared-schema.js';
export type { SchemaError } from './run.js';
export { createWork, stepsMax } from './work.js';
export type { Work } from './work.js';
