export { start as default } from './suite.mjs';
