export { createFakeCountersign } from './testing/fake-countersign.js';
export type { FakeCountersign } from './testing/fake-countersign.js';
export type { FakeRemarks } from './testing/fake-life.js';
