import { cancelRun } from './cancel-run.js';
import type { CancelRunPorts } from './cancel-run.js';

export { createRefusals } from './refusals.js';
export { openLedgerWorld, requestMessage as createRequestMessage } from './testing/ledger-world.js';

/** Cancels runs as the ledger does on a message. */
export function createRunCanceller(ports: CancelRunPorts) {
  return (...given: Parameters<typeof cancelRun> extends [unknown, ...infer Rest] ? Rest : never) =>
    cancelRun(ports, ...given);
}
