import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The routes of remote workers, and of the people who clean up after them. */
@Controller()
export class ExecutionsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.claim)
  claim(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { executions } = this.#http.gateway;
    return write(this.#http, routes.claim, request, reply, (context, body) =>
      executions.claim(context, paramOf(request, 'callId'), body),
    );
  }

  @Endpoint(routes.renewClaim)
  renew(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { executions } = this.#http.gateway;
    return write(this.#http, routes.renewClaim, request, reply, (context, body) =>
      executions.renew(context, paramOf(request, 'callId'), body),
    );
  }

  @Endpoint(routes.reportExecution)
  report(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { executions } = this.#http.gateway;
    return write(this.#http, routes.reportExecution, request, reply, (context, body) =>
      executions.report(context, paramOf(request, 'callId'), body),
    );
  }

  @Endpoint(routes.submitOutput)
  submitOutput(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { executions } = this.#http.gateway;
    return write(this.#http, routes.submitOutput, request, reply, (context, body) =>
      executions.submitOutput(context, paramOf(request, 'callId'), body),
    );
  }

  @Endpoint(routes.reconcile)
  reconcile(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { executions } = this.#http.gateway;
    return write(this.#http, routes.reconcile, request, reply, (context, body) =>
      executions.reconcile(context, paramOf(request, 'callId'), body),
    );
  }
}
