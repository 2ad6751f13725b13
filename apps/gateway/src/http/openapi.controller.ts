import { Controller, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { createOpenApiDocument } from '../openapi/document.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';

/** The contract, for programs that generate from it. */
@Controller()
export class OpenApiController {
  #text: string | undefined;

  @Endpoint(routes.openApi)
  get(@Res() reply: FastifyReply): void {
    this.#text ??= JSON.stringify(createOpenApiDocument());
    void reply.header('content-type', 'application/json').send(this.#text);
  }
}
