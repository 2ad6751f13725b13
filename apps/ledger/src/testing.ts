export { openLedgerWorld, requestMessage } from './testing/ledger-world.js';
