export { keyChanged, provenIn, signedChange } from './testing/changed-key.js';
export { honestCheckpoint, strangerSigner, testSigner, versionOneLog } from './testing/honest-log.js';
export { approvedStory, story } from './testing/story.js';
export type { Story } from './testing/story.js';
export { proofOfCall } from './testing/proof-of-call.js';
export { fitOf } from './legality/schema-fit.js';
