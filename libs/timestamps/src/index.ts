export { timestampQuery } from './query.js';
export { timestampBytesMax, verifyTimestamp } from './verify-timestamp.js';
export type { ExpectedTimestamp, VerifiedTimestamp } from './verify-timestamp.js';
