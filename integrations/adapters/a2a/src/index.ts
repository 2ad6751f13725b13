export { withApprovals } from './with-approvals.js';
export type { ApprovalsOptions, OpenApproval, WithApprovals } from './with-approvals.js';
