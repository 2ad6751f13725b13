import { Controller, Inject, Req, Res } from '@nestjs/common';
import { parseApprovalId } from '@countersign/contracts';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { admitClear } from './clear-values.js';
import { Endpoint } from './endpoint.js';
import { paramOf, queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The approvers' routes. */
@Controller()
export class ApprovalsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.listApprovals)
  async list(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    const query = queryOf(routes.listApprovals, request);
    await admitClear(this.#http, request, query.values, { what: 'list' });
    return read(this.#http, request, reply, (actor) => approvals.list(actor, query));
  }

  @Endpoint(routes.getApproval)
  async get(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    const { values } = queryOf(routes.getApproval, request);
    const approvalId = paramOf(request, 'approvalId');
    const callId = parseApprovalId(approvalId)?.callId;
    await admitClear(this.#http, request, values, { what: 'call', ...(callId !== undefined && { callId }) });
    return read(this.#http, request, reply, (actor) => approvals.get(actor, approvalId, values));
  }

  @Endpoint(routes.getCard)
  card(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gateway, publicUrl } = this.#http;
    const { format } = queryOf(routes.getCard, request);
    const approvalId = paramOf(request, 'approvalId');
    return read(this.#http, request, reply, (actor) =>
      gateway.approvals.card(actor, approvalId, { format, publicUrl }),
    );
  }

  @Endpoint(routes.respond)
  respond(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    return write(this.#http, routes.respond, request, reply, (context, body) =>
      approvals.respond(context, paramOf(request, 'approvalId'), body),
    );
  }

  @Endpoint(routes.respondInBulk)
  respondInBulk(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    return write(this.#http, routes.respondInBulk, request, reply, (context, body) =>
      approvals.respondInBulk(context, body),
    );
  }

  @Endpoint(routes.reveal)
  reveal(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    return write(this.#http, routes.reveal, request, reply, (context) =>
      approvals.reveal(context, paramOf(request, 'approvalId')),
    );
  }

  @Endpoint(routes.withdraw)
  withdraw(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { approvals } = this.#http.gateway;
    const { response } = queryOf(routes.withdraw, request);
    const mayBeRepeat = request.headers['idempotency-key'] === undefined;
    const which = response === undefined ? { mayBeRepeat } : { response };
    return write(this.#http, routes.withdraw, request, reply, (context) =>
      approvals.withdraw(context, paramOf(request, 'approvalId'), which),
    );
  }
}
