export { celEngine } from './expression.js';
export type { CelEngine, CelExpression, CelInputs, RunInputs } from './expression.js';
