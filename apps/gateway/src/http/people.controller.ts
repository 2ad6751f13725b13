import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { endPerson } from '../people-of-front-ends.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The people of front ends. */
@Controller()
export class PeopleController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.endPerson)
  end(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.endPerson, request, reply, (context) =>
      endPerson(this.#http.ports, context, paramOf(request, 'person')),
    );
  }
}
