export { openLedgerWorld, requestMessage as createRequestMessage } from './testing/ledger-world.js';
