import { createGrantQuerySchema } from '@countersign/contracts';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf, queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** `?dryRun=true` is `previewGrant`. The document leaves it out: generated clients read one success answer of an operation. */
const createOrPreview = { ...routes.createGrant, query: createGrantQuerySchema };

/** Standing grants. */
@Controller()
export class GrantsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.listGrants)
  list(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.listGrants, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.grants.list(actor, query));
  }

  @Endpoint(routes.getGrant)
  get(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getGrant, request);
    return read(this.#http, request, reply, (actor) =>
      this.#http.gateway.grants.get(actor, paramOf(request, 'grantId')),
    );
  }

  @Endpoint(routes.createGrant)
  create(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { grants } = this.#http.gateway;
    const isDryRun = queryOf(createOrPreview, request).dryRun === 'true';
    return write(this.#http, createOrPreview, request, reply, (context, body) =>
      isDryRun ? grants.preview(context.actor, body) : grants.create(context, body),
    );
  }

  @Endpoint(routes.previewGrant)
  preview(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.previewGrant, request, reply, ({ actor }, body) =>
      this.#http.gateway.grants.preview(actor, body),
    );
  }

  @Endpoint(routes.confirmGrant)
  confirm(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.confirmGrant, request, reply, (context) =>
      this.#http.gateway.grants.confirm(context, paramOf(request, 'grantId')),
    );
  }

  @Endpoint(routes.revokeGrant)
  revoke(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.revokeGrant, request, reply, (context, body) =>
      this.#http.gateway.grants.revoke(context, paramOf(request, 'grantId'), body),
    );
  }
}
