export { withApprovals } from './with-approvals.js';
export type { ApprovalsOptions, OpenApproval } from './with-approvals.js';
