import { eraseSubjectSchema, erasureViewSchema } from '@countersign/contracts';
import { defineRoute } from '../route.js';

/** The people that calls are about. */
export const subjectRoutes = {
  eraseSubject: defineRoute({
    id: 'eraseSubject',
    method: 'POST',
    path: '/v1/subjects/erase',
    tag: 'Privacy',
    summary: 'Make the sensitive values of a subject unreadable for ever; `dryRun` counts them',
    roles: ['admin'],
    body: eraseSubjectSchema,
    answers: { 200: erasureViewSchema },
    codes: ['calls-open', 'not-supported', 'unavailable'],
  }),
} as const;
