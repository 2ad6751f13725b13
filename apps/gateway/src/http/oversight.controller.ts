import { Controller, Inject, Req, Res } from '@nestjs/common';
import { sendText } from '@countersign/shell';
import type { FastifyReply } from 'fastify';
import { ok } from '../answer.js';
import { oversightCsv } from '../oversight.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { actorOf, answered, markOf, queryOf, send, whenOver } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** How people decided. */
@Controller()
export class OversightController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.getOversight)
  async report(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gateway, ports } = this.#http;
    const { format, ...query } = queryOf(routes.getOversight, request);
    const actor = actorOf(request);
    const gone = new AbortController();
    // It reads the log, like an export.
    whenOver(this.#http, request, reply, gateway.caps.streams.take(actor));
    whenOver(this.#http, request, reply, () => {
      gone.abort();
    });
    const report = await gateway.oversight.report(actor, query, gone.signal);
    if (format !== 'csv') {
      send(this.#http, request, reply, ok(report));
      return;
    }
    const headers = Object.entries(markOf(ports)).flat();
    sendText(reply, { status: 200, contentType: 'text/csv; charset=utf-8', text: oversightCsv(report), headers });
    answered(ports, request, 200);
  }
}
