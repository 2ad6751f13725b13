import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Answer } from '../answer.js';
import { introspectReceipt, readKeySet } from '../receipts.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { actorOf, answered, bodyOf, keyed, queryOf, refuseQuery, send } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The receipts of claims, for the servers of tools. */
@Controller()
export class ReceiptsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.introspectReceipt)
  async introspect(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    refuseQuery(request);
    const body = bodyOf(routes.introspectReceipt, request);
    const introspect = (): Promise<Answer> => introspectReceipt(this.#http.ports, actorOf(request), body.token);
    send(this.#http, request, reply, await keyed(this.#http, routes.introspectReceipt, request, body, introspect));
  }

  /** Read by every server of a tool, so it may be cached, and an unchanged set is not sent again. */
  @Endpoint(routes.readReceiptKeys)
  keys(@Req() request: ApiRequest, @Res() reply: FastifyReply): void {
    const { tenant = 'default' } = queryOf(routes.readReceiptKeys, request);
    const { text, tag } = readKeySet(this.#http.ports.receipts, tenant);
    const isKnown = (request.headers['if-none-match'] ?? '')
      .split(',')
      .some((one) => one.trim().replace(/^W\//, '') === tag);
    void reply.header('etag', tag).header('cache-control', 'public, max-age=300');
    if (isKnown) void reply.status(304).send();
    else void reply.header('content-type', 'application/json; charset=utf-8').send(text);
    answered(this.#http.ports, request, isKnown ? 304 : 200);
  }
}
