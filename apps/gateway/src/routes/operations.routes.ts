import { healthSchema, problemPageSchema, readinessSchema } from '../answer-schemas.js';
import { defineRoute } from '../route.js';

/** The operator's routes; no token is required. */
export const operationsRoutes = {
  openApi: defineRoute({
    id: 'getOpenApi',
    method: 'GET',
    path: '/openapi.json',
    tag: 'Operations',
    summary: 'This document',
    roles: 'public',
    stream: 'application/json',
    codes: ['too-many-requests', 'misdirected-request'],
  }),
  problem: defineRoute({
    id: 'getProblem',
    method: 'GET',
    path: '/problems/:code',
    tag: 'Operations',
    summary: 'Read why a request is refused with a code, and what to do: the `type` of a problem is this address',
    roles: 'public',
    answers: { 200: problemPageSchema },
    codes: ['not-found', 'too-many-requests', 'misdirected-request'],
  }),
  healthz: defineRoute({
    id: 'healthz',
    method: 'GET',
    path: '/healthz',
    tag: 'Operations',
    summary: 'Whether the process is alive',
    roles: 'public',
    answers: { 200: healthSchema },
    codes: [],
  }),
  readyz: defineRoute({
    id: 'readyz',
    method: 'GET',
    path: '/readyz',
    tag: 'Operations',
    summary: 'Whether the process may be given work, and what is not ready',
    roles: 'public',
    answers: { 200: readinessSchema },
    codes: ['unavailable'],
  }),
  metrics: defineRoute({
    id: 'metrics',
    method: 'GET',
    path: '/metrics',
    tag: 'Operations',
    summary: "Figures in Prometheus' text format",
    roles: 'public',
    stream: 'text/plain',
    codes: ['too-many-requests'],
  }),
} as const;
