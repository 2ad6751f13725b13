import { registerPasskeySchema } from '@countersign/contracts';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { paramOf, queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** Without a registration it is `getPasskeyOptions`. The document leaves it out: generated clients read one success answer. */
const registerOrAsk = {
  ...routes.registerPasskey,
  body: registerPasskeySchema.partial({ registration: true }),
  isBodyOptional: true,
};

/** The passkeys with which people sign. */
@Controller()
export class PasskeysController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.listMyPasskeys)
  listMine(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.listMyPasskeys, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.passkeys.list(actor, 'own'));
  }

  @Endpoint(routes.registerPasskey)
  register(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gateway, publicUrl } = this.#http;
    return write(this.#http, registerOrAsk, request, reply, (context, { registration, name }) =>
      registration === undefined
        ? gateway.passkeys.options(context.actor, publicUrl)
        : gateway.passkeys.register(context, { registration, name }, publicUrl),
    );
  }

  @Endpoint(routes.getPasskeyOptions)
  options(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { gateway, publicUrl } = this.#http;
    return write(this.#http, routes.getPasskeyOptions, request, reply, ({ actor }) =>
      gateway.passkeys.options(actor, publicUrl),
    );
  }

  @Endpoint(routes.getMyPasskey)
  get(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getMyPasskey, request);
    return read(this.#http, request, reply, (actor) =>
      this.#http.gateway.passkeys.get(actor, paramOf(request, 'credentialId')),
    );
  }

  @Endpoint(routes.removePasskey)
  remove(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.removePasskey, request, reply, (context) =>
      this.#http.gateway.passkeys.remove(context, paramOf(request, 'credentialId')),
    );
  }

  @Endpoint(routes.listPasskeys)
  list(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.listPasskeys, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.passkeys.list(actor, 'all'));
  }

  @Endpoint(routes.confirmPasskey)
  confirm(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    return write(this.#http, routes.confirmPasskey, request, reply, (context, body) =>
      this.#http.gateway.passkeys.confirm(context, paramOf(request, 'credentialId'), body),
    );
  }
}
