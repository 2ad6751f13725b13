import { meSchema } from '../answer-schemas.js';
import { anyRole, defineRoute } from '../route.js';

/** Who the token speaks for. */
export const meRoutes = {
  getMe: defineRoute({
    id: 'getMe',
    method: 'GET',
    path: '/v1/me',
    tag: 'Sign-in',
    summary: 'Read who the caller is, as the server knows it',
    roles: [...anyRole, 'stopper'],
    forPeople: true,
    answers: { 200: meSchema },
    codes: [],
  }),
} as const;
