import {
  createGrantQuerySchema,
  createGrantSchema,
  grantPreviewSchema,
  grantViewSchema,
  listGrantsQuerySchema,
  revokeGrantSchema,
} from '@countersign/contracts';
import { grantPageSchema } from '../answer-schemas.js';
import { defineRoute } from '../route.js';

/** Standing grants. Agents may not read them: they would learn which arguments no person looks at. */
export const grantRoutes = {
  listGrants: defineRoute({
    id: 'listGrants',
    method: 'GET',
    path: '/v1/grants',
    tag: 'Grants',
    summary: 'List standing grants, the newest first',
    roles: ['approver', 'auditor', 'admin'],
    query: listGrantsQuerySchema,
    answers: { 200: grantPageSchema },
    codes: [],
  }),
  getGrant: defineRoute({
    id: 'getGrant',
    method: 'GET',
    path: '/v1/grants/:grantId',
    tag: 'Grants',
    summary: 'Read a standing grant',
    roles: ['approver', 'auditor', 'admin'],
    answers: { 200: grantViewSchema },
    codes: ['not-found'],
  }),
  createGrant: defineRoute({
    id: 'createGrant',
    method: 'POST',
    path: '/v1/grants',
    tag: 'Grants',
    summary:
      'Permit calls of a tool in advance. With `dryRun=true` nothing is created: the answer is which recorded approvals it would have covered',
    roles: ['approver'],
    body: createGrantSchema,
    query: createGrantQuerySchema,
    answers: { 201: grantViewSchema, 200: grantPreviewSchema },
    codes: ['expired', 'not-an-approver', 'blocked-by-policy', 'too-many-requests'],
  }),
  confirmGrant: defineRoute({
    id: 'confirmGrant',
    method: 'POST',
    path: '/v1/grants/:grantId/confirm',
    tag: 'Grants',
    summary: 'Confirm a pending grant of another person: one above the risk tier',
    roles: ['approver'],
    answers: { 200: grantViewSchema },
    codes: ['not-found', 'own-request', 'not-an-approver', 'already-resolved', 'expired', 'grant-ended'],
  }),
  revokeGrant: defineRoute({
    id: 'revokeGrant',
    method: 'DELETE',
    path: '/v1/grants/:grantId',
    tag: 'Grants',
    summary: 'Revoke a standing grant: no call that is requested after the answer is covered',
    roles: ['approver', 'admin'],
    body: revokeGrantSchema,
    isBodyOptional: true,
    answers: { 200: grantViewSchema },
    codes: ['not-found'],
  }),
} as const;
