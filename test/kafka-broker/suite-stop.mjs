export { stop as default } from './suite.mjs';
