export * as fixtures from './testing/fixtures.js';
export { lives } from './testing/lives.js';
