// Every command of the ledger, one function each.
export { cancelToolCall, describeApproval, requestApproval } from './ask-and-cancel.js';
export { cancelRun, notCancelledOf } from './cancel-run.js';
export { endRun } from './end-run.js';
export { closeBatch } from './batch.js';
export { abandonClaim, claim, reconcile, renewClaim, reportExecution, submitClientOutput } from './execution.js';
export { fireDue } from './fire-due.js';
export { confirmGrant, createGrant, noSuchGrant, respondAndRemember, revokeGrant } from './grants.js';
export { isInReach, matchesArguments } from './grant-facts.js';
export { planGrant } from './plan-grant.js';
export { findCall } from './with-tool-call.js';
export { requestToolCalls } from './request-tool-calls.js';
export { respondInBulk } from './respond-in-bulk.js';
export { respond, reveal, withdraw } from './respond.js';
