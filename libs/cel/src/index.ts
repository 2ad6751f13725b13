export { celEngine } from './expression.js';
export type { CelEngine, CelExpression, CelInputs } from './expression.js';
