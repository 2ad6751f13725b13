import {
  auditEventsQuerySchema,
  auditToolCallQuerySchema,
  eventsQuerySchema,
  proofQuerySchema,
} from '@countersign/contracts';
import { auditedCallSchema, callProofSchema, unreadableSchema } from '../answer-schemas.js';
import { anyRole, defineRoute } from '../route.js';

/** The log, for programs and auditors. */
export const logRoutes = {
  streamEvents: defineRoute({
    id: 'streamEvents',
    method: 'GET',
    path: '/v1/events',
    tag: 'Events and audit',
    summary: 'Stream the recorded events',
    roles: anyRole,
    query: eventsQuerySchema,
    stream: 'text/event-stream',
    codes: [],
  }),
  auditToolCall: defineRoute({
    id: 'auditToolCall',
    method: 'GET',
    path: '/v1/audit/tool-calls/:callId/events',
    tag: 'Events and audit',
    summary: 'Read the stream of a call, and the call as it stood at a moment',
    roles: ['auditor'],
    query: auditToolCallQuerySchema,
    answers: { 200: auditedCallSchema },
    codes: ['not-found'],
  }),
  proveToolCall: defineRoute({
    id: 'proveToolCall',
    method: 'GET',
    path: '/v1/audit/tool-calls/:callId/proof',
    tag: 'Events and audit',
    summary: 'Prove that the events of a call are in the log',
    roles: ['auditor'],
    query: proofQuerySchema,
    answers: { 200: callProofSchema },
    codes: ['not-found', 'not-supported'],
  }),
  auditLog: defineRoute({
    id: 'auditLog',
    method: 'GET',
    path: '/v1/audit/events',
    tag: 'Events and audit',
    summary: "Search and export the tenant's log, in pages",
    roles: ['auditor'],
    query: auditEventsQuerySchema,
    stream: 'application/x-ndjson',
    files: ['text/csv', 'application/vnd.apache.parquet'],
    isPaged: true,
    codes: [],
  }),
  listUnreadable: defineRoute({
    id: 'listUnreadable',
    method: 'GET',
    path: '/v1/unreadable',
    tag: 'Events and audit',
    summary: 'List the streams that are set aside, with the event that this version cannot read',
    roles: ['auditor', 'admin'],
    answers: { 200: unreadableSchema },
    codes: [],
  }),
} as const;
