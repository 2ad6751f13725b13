export { answerChallenge, confirmationChallenge, registrationChallenge } from './challenges.js';
export type { SignedAnswer } from './challenges.js';
export { relyingPartyOf } from './relying-party.js';
export type { RelyingParty } from './relying-party.js';
export { verifyAssertion } from './verify-assertion.js';
export type { SigningKey, Verified } from './verify-assertion.js';
export { algorithms, verifyRegistration } from './verify-registration.js';
export type { Registered, Registration } from './verify-registration.js';
