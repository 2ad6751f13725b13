export { createRefusals } from './refusals.js';
export { openLedgerWorld, requestMessage as createRequestMessage } from './testing/ledger-world.js';
export type { LedgerWorld } from './testing/ledger-world.js';
export { signRequest as createRequestSignature } from './testing/sign-request.js';
