import { endedPersonSchema } from '../answer-schemas.js';
import { defineRoute } from '../route.js';

/** The people of front ends. */
export const peopleRoutes = {
  endPerson: defineRoute({
    id: 'endPerson',
    method: 'DELETE',
    path: '/v1/people/:person',
    tag: 'Sign-in',
    summary: 'End a person of a front end: their votes on pending approvals no longer count',
    roles: ['front-end', 'admin'],
    answers: { 200: endedPersonSchema },
    codes: [],
  }),
} as const;
