import {
  approvalViewSchema,
  listApprovalsQuerySchema,
  respondInBulkSchema,
  respondSchema,
  revealedViewSchema,
} from '@countersign/contracts';
import { oversizeEdit } from '@countersign/shell';
import { approvalPageSchema, bulkResultsSchema } from '../answer-schemas.js';
import { defineRoute } from '../route.js';

const vote = [
  'unknown-approval',
  'already-resolved',
  'expired',
  'not-an-approver',
  'own-request',
  'already-voted',
  'digest-mismatch',
  'invalid-arguments',
  'decision-not-allowed',
  'batch-begun',
  'reason-required',
  'blocked-by-policy',
] as const;

/** What approvers do. */
export const approvalRoutes = {
  listApprovals: defineRoute({
    id: 'listApprovals',
    method: 'GET',
    path: '/v1/approvals',
    tag: 'Approvals',
    summary: 'List approvals, oldest first unless the newest are asked for',
    roles: ['approver', 'auditor', 'admin'],
    query: listApprovalsQuerySchema,
    answers: { 200: approvalPageSchema },
    codes: [],
  }),
  getApproval: defineRoute({
    id: 'getApproval',
    method: 'GET',
    path: '/v1/approvals/:approvalId',
    tag: 'Approvals',
    summary: 'Read an approval',
    roles: ['approver', 'auditor', 'admin'],
    answers: { 200: approvalViewSchema },
    codes: ['unknown-approval'],
  }),
  respond: defineRoute({
    id: 'respond',
    method: 'POST',
    path: '/v1/approvals/:approvalId/responses',
    tag: 'Approvals',
    summary: 'Answer an approval',
    roles: ['approver'],
    body: respondSchema,
    oversize: oversizeEdit,
    answers: { 200: approvalViewSchema },
    codes: vote,
  }),
  respondInBulk: defineRoute({
    id: 'respondInBulk',
    method: 'POST',
    path: '/v1/approvals/responses',
    tag: 'Approvals',
    summary: 'Give one answer to many approvals',
    roles: ['approver'],
    body: respondInBulkSchema,
    oversize: oversizeEdit,
    answers: { 200: bulkResultsSchema },
    codes: [],
  }),
  reveal: defineRoute({
    id: 'revealValues',
    method: 'POST',
    path: '/v1/approvals/:approvalId/reveal',
    tag: 'Approvals',
    summary: 'Show the hidden values of an approval that one may answer; who looked is recorded first',
    roles: ['approver'],
    answers: { 200: revealedViewSchema },
    codes: ['unknown-approval', 'already-resolved', 'expired', 'not-an-approver', 'own-request'],
  }),
  withdraw: defineRoute({
    id: 'withdrawResponse',
    method: 'DELETE',
    path: '/v1/approvals/:approvalId/responses/mine',
    tag: 'Approvals',
    summary: "Withdraw one's vote while the approval is pending",
    roles: ['approver'],
    answers: { 200: approvalViewSchema },
    codes: ['unknown-approval', 'already-resolved', 'expired'],
  }),
} as const;
