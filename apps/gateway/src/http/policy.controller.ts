import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The policy, for those who answer for it. */
@Controller()
export class PolicyController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.getPolicy)
  active(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getPolicy, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.policies.active(actor));
  }

  @Endpoint(routes.explainPolicy)
  explain(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { policies } = this.#http.gateway;
    return write(this.#http, routes.explainPolicy, request, reply, ({ actor }, call) =>
      Promise.resolve(policies.explain(actor, call)),
    );
  }
}
