export { arbitraryLog, groupSizes, inGroups } from './testing/arbitrary-log.js';
export { createTestLog } from './testing/test-log.js';
export type { TestCall, TestLog } from './testing/test-log.js';
