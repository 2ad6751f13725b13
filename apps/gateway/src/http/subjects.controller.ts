import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { eraseSubject } from '../erasures.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The erasure of the values of a subject. */
@Controller()
export class SubjectsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.eraseSubject)
  erase(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.eraseSubject, request, reply, (context, body) =>
      eraseSubject(this.#http.ports, context, body),
    );
  }
}
