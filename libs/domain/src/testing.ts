export * as fixtures from './testing/fixtures.js';
