import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ok } from '../answer.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { queryOf, read } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** Who the caller is. */
@Controller()
export class MeController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.getMe)
  me(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getMe, request);
    return read(this.#http, request, reply, ({ principal, tenant, roles, groups, agentIds, ...proof }) => {
      const { credential = null, expiresAt = null } = proof;
      return ok({ principal, tenant, roles: [...roles], groups, agentIds, credential, expiresAt });
    });
  }
}
