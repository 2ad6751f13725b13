// Every command of the ledger, one function each.
export { cancelToolCall, describeApproval, requestApproval } from './people/ask-and-cancel.js';
export { cancelRun, notCancelledOf } from './people/cancel-run.js';
export { endInside } from './people/end-inside.js';
export { endRun } from './people/end-run.js';
export { closeBatch } from './batch.js';
export { abandonClaim, claim, reconcile, renewClaim, reportExecution, submitClientOutput } from './execution.js';
export { fireDue } from './fire-due.js';
export { confirmGrant, createGrant, noSuchGrant, respondAndRemember, revokeGrant } from './grants/grants.js';
export { isInReach, matchesArguments } from './grants/grant-facts.js';
export { planGrant } from './grants/plan-grant.js';
export { findCall } from './stream/with-tool-call.js';
export { requestToolCalls } from './request/request-tool-calls.js';
export { confirmPasskey, passkeysOf, registerPasskey, removePasskey } from './people/passkeys.js';
export type { ConfirmPasskeyBody, RegistrationBody } from './people/passkeys.js';
export { respondInBulk } from './people/respond-in-bulk.js';
export { respond } from './people/respond.js';
export { endVotes, withdraw } from './people/withdraw.js';
export { reveal } from './people/reveal.js';
