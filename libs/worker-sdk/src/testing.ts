export { createFakeCountersign } from './testing/fake-countersign.js';
export type { FakeCountersign, FakeRemarks } from './testing/fake-countersign.js';
