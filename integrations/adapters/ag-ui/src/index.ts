export { withApprovals } from './with-approvals.js';
export type { ApprovalsOptions } from './with-approvals.js';
