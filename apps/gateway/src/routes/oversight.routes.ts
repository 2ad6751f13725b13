import { oversightQuerySchema, oversightReportSchema } from '@countersign/contracts';
import { defineRoute } from '../route.js';

/** How people decided. */
export const oversightRoutes = {
  getOversight: defineRoute({
    id: 'getOversight',
    method: 'GET',
    path: '/v1/oversight',
    tag: 'Oversight',
    summary: 'Report how people decided in a period, per approver, tool or rule; an approver sees their own figures',
    roles: ['approver', 'auditor', 'admin'],
    query: oversightQuerySchema,
    answers: { 200: oversightReportSchema },
    hasCsv: true,
    codes: [],
  }),
} as const;
