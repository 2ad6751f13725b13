import { backtestSchema, explainedCallSchema, explanationViewSchema, policyViewSchema } from '@countersign/contracts';
import { defineRoute } from '../route.js';

/** The policy. Agents may not read it: they would learn which arguments no person looks at. */
export const policyRoutes = {
  getPolicy: defineRoute({
    id: 'getPolicy',
    method: 'GET',
    path: '/v1/policy',
    tag: 'Policy',
    summary: 'Read the policy in force, and since when',
    roles: ['approver', 'auditor', 'admin'],
    answers: { 200: policyViewSchema },
    codes: [],
  }),
  explainPolicy: defineRoute({
    id: 'explainPolicy',
    method: 'POST',
    path: '/v1/policy/explain',
    tag: 'Policy',
    summary: 'Explain the verdict on a call: what each rule says of it; nothing is recorded',
    roles: ['approver', 'auditor', 'admin'],
    body: explainedCallSchema,
    isNeverKept: true,
    answers: { 200: explanationViewSchema },
    codes: [],
  }),
  backtestPolicy: defineRoute({
    id: 'backtestPolicy',
    method: 'POST',
    path: '/v1/policy/backtest',
    tag: 'Policy',
    summary: 'List the recorded calls that a candidate policy would judge differently, one per line, and a summary',
    // A rule can look at values that are hidden from everybody else.
    roles: ['auditor'],
    body: backtestSchema,
    isNeverKept: true,
    stream: 'application/x-ndjson',
    codes: [],
  }),
} as const;
