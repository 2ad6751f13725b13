import { Readable } from 'node:stream';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { AuditEventsQuery } from '@countersign/contracts';
import type { FastifyReply } from 'fastify';
import { pastErasures } from '../erasures.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { actorOf, markOf, queryOf, read, whenOver } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';
import { sendHead } from './streams.controller.js';
import { refuseFuture } from './when-seen.js';

/** What auditors ask the log. */
@Controller()
export class AuditController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.auditState)
  async state(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { ports } = this.#http;
    const { asOf = new Date(ports.clock.now()).toISOString() } = queryOf(routes.auditState, request);
    const { audit } = this.#http.gateway;
    const gone = this.#reading(request, reply);
    await read(this.#http, request, reply, (actor) => audit.state(actor, asOf, gone));
  }

  @Endpoint(routes.auditErasures)
  async erasures(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.auditErasures, request);
    const gone = this.#reading(request, reply);
    await read(this.#http, request, reply, (actor) => pastErasures(this.#http.ports, actor, query, gone));
  }

  @Endpoint(routes.auditLog)
  async events(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.auditLog, request);
    const { audit, caps } = this.#http.gateway;
    const { ports } = this.#http;
    const actor = actorOf(request);
    if (query.after !== undefined) await refuseFuture(ports, caps, actor, query.after);
    // A page of the log is work like a stream of events.
    whenOver(this.#http, request, reply, caps.streams.take(actor));
    const isHead = request.method === 'HEAD';
    if (!isHead) await ports.use?.auditRead(actor, { what: 'export', ...readOf(query) }, request.url);
    const { file, next, position, missing } = await audit.events(actor, query);
    const headers = {
      ...markOf(ports),
      ...(missing.length > 0 && { 'countersign-log': 'damaged', 'countersign-log-missing': missing.join(',') }),
      ...{ 'content-type': file.contentType, 'countersign-position': String(position) },
      ...(next !== null && { link: linkTo(request.url, query, next) }),
      ...(file.ending !== undefined && {
        'content-disposition': `attachment; filename="countersign-events.${file.ending}"`,
      }),
    };
    if (isHead) sendHead(reply, headers);
    else
      void reply
        .status(200)
        .headers(headers)
        .send(Readable.from(file.pieces, { objectMode: false, highWaterMark: 64 * 1024 }));
  }

  /** Reads of the log count as a stream, like an export. Returns the signal that its client is gone. */
  #reading(request: ApiRequest, reply: FastifyReply): AbortSignal {
    const gone = new AbortController();
    whenOver(this.#http, request, reply, this.#http.gateway.caps.streams.take(actorOf(request)));
    whenOver(this.#http, request, reply, () => {
      gone.abort();
    });
    return gone.signal;
  }
}

/** The same request for the next page. */
function linkTo(url: string, { order }: AuditEventsQuery, next: number): string {
  const [path = '', query = ''] = url.split('?');
  const parameters = new URLSearchParams(query);
  parameters.set(order === 'desc' ? 'before' : 'after', String(next));
  return `<${path}?${parameters.toString()}>; rel="next"`;
}

/** What the log of record says of a read. */
function readOf({ values = 'masked', after = 0, limit, since, until, callId }: AuditEventsQuery) {
  const [only] = callId ?? [];
  return {
    ...{ values, after },
    ...(limit !== undefined && { limit }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(only !== undefined && callId?.length === 1 && { callId: only }),
  };
}
