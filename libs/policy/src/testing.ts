export { writtenKeys } from './testing/written-keys.js';
