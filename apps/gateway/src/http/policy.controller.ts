import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { Actor } from '@countersign/commands';
import { ok } from '../answer.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import {
  actorOf,
  bodyOf,
  keyed,
  queryOf,
  read,
  refuseQuery,
  send,
  sendLines,
  whenOver,
  write,
} from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The policy, for those who answer for it. */
@Controller()
export class PolicyController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.getPolicy)
  active(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getPolicy, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.policies.active(actor));
  }

  @Endpoint(routes.listPolicyVersions)
  versions(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.listPolicyVersions, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.policies.versions(actor, query));
  }

  @Endpoint(routes.getShadowReport)
  shadow(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.getShadowReport, request);
    return this.#report(request, reply, this.#http.gateway.policies.shadow);
  }

  @Endpoint(routes.suggestPolicy)
  suggest(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.suggestPolicy, request);
    const { policies } = this.#http.gateway;
    return this.#report(request, reply, (actor, signal) => policies.suggest(actor, query, signal));
  }

  /** A report reads the log, like an export. */
  async #report(
    request: ApiRequest,
    reply: FastifyReply,
    work: (actor: Actor, signal: AbortSignal) => Promise<object>,
  ): Promise<void> {
    const { caps } = this.#http.gateway;
    const actor = actorOf(request);
    const gone = new AbortController();
    whenOver(this.#http, request, reply, caps.streams.take(actor));
    whenOver(this.#http, request, reply, () => {
      gone.abort();
    });
    send(this.#http, request, reply, ok(await work(actor, gone.signal)));
  }

  @Endpoint(routes.explainPolicy)
  explain(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { policies } = this.#http.gateway;
    return write(this.#http, routes.explainPolicy, request, reply, ({ actor }, call) =>
      Promise.resolve(policies.explain(actor, call)),
    );
  }

  @Endpoint(routes.backtestPolicy)
  async backtest(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { policies, caps } = this.#http.gateway;
    const actor = actorOf(request);
    refuseQuery(request);
    const body = bodyOf(routes.backtestPolicy, request);
    // It reads the whole log, like an export; and to read a large candidate is work as well.
    whenOver(this.#http, request, reply, caps.streams.take(actor));
    const lines = await policies.backtest(actor, body);
    const answer = await keyed(this.#http, routes.backtestPolicy, request, body, () => Promise.resolve(ok(null)));
    if (answer.status === 200) sendLines(reply, lines, answer.isRepeat);
    else send(this.#http, request, reply, answer);
  }
}
