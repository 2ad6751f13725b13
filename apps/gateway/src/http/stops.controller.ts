import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf, queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The stops of calls. */
@Controller()
export class StopsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.listStops)
  list(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.listStops, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.stops.list(actor));
  }

  @Endpoint(routes.getStop)
  get(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getStop, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.stops.get(actor, paramOf(request, 'stopId')));
  }

  @Endpoint(routes.declareStop)
  declare(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.declareStop, request, reply, (context, body) =>
      this.#http.gateway.stops.declare(context, body),
    );
  }

  @Endpoint(routes.liftStop)
  lift(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.liftStop, request, reply, (context, body) =>
      this.#http.gateway.stops.lift(context, paramOf(request, 'stopId'), body),
    );
  }
}
