export { arbitraryLog } from './testing/arbitrary-log.js';
