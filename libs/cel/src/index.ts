export { celEngine } from './expression.js';
export type { CelAnswer, CelEngine, CelExpression, CelInputs, CelProblem } from './expression.js';
