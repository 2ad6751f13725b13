'use client';

export { ApprovalPane as Approval } from './card/approval-pane.js';
export { ApprovalCard, type ApprovalCardProps } from './card/approval-card.js';
export { DecisionPanel } from './card/decision-panel.js';
export { useApproval, type ShownApproval } from './card/use-approval.js';
export type { Change } from './card/use-change.js';
export { useDecision, type DecisionHook } from './card/use-decision.js';
export type { ApprovalsClient } from './client/approvals-client.js';
export type { Account, Filter, Remarks } from './client/approvals.js';
export { createApprovalsClient, type ApprovalsClientOptions } from './client/create-client.js';
export { ProblemError, UnreachableError } from './client/problem.js';
export type { Problem } from './client/problem.js';
export { ApprovalList } from './list/approval-list.js';
export { ApprovalsProvider, type ApprovalsProviderProps } from './live/approvals-provider.js';
export type { Surroundings } from './live/surroundings.js';
export { useApprovals, type Approvals } from './live/use-approvals.js';
