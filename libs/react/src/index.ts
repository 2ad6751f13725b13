export { ApprovalPane } from './card/approval-pane.js';
export type { ApprovalsClient } from './client/approvals-client.js';
export { ProblemError, UnreachableError } from './client/problem.js';
export type { Problem } from './client/problem.js';
