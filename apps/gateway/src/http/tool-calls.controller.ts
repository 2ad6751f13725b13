import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { Actor } from '@countersign/commands';
import { isCallId } from '@countersign/contracts';
import type { FastifyReply } from 'fastify';
import { routes } from '../routes.js';
import { admitClear } from './clear-values.js';
import { Endpoint } from './endpoint.js';
import { isStill, paramOf, proveAgain, queryOf, read, write } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The agents' routes for their calls and runs. */
@Controller()
export class ToolCallsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.requestToolCalls)
  request(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    return write(this.#http, routes.requestToolCalls, request, reply, (context, body) =>
      toolCalls.request(context, body),
    );
  }

  @Endpoint(routes.listToolCalls)
  async list(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.listToolCalls, request);
    await admitClear(this.#http, request, query.values, { what: 'list' });
    return read(this.#http, request, reply, (actor) => this.#http.gateway.lists.calls(actor, query));
  }

  @Endpoint(routes.listRuns)
  listRuns(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.listRuns, request);
    return read(this.#http, request, reply, (actor) => this.#http.gateway.lists.runs(actor, query));
  }

  @Endpoint(routes.getToolCall)
  async get(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    const waiting = queryOf(routes.getToolCall, request);
    const callId = paramOf(request, 'callId');
    await admitClear(this.#http, request, waiting.values, { what: 'call', ...(isCallId(callId) && { callId }) });
    return read(this.#http, request, reply, async (actor) => {
      const answer = toolCalls.get(actor, callId, waiting, (end) => this.#whileProved(actor, request, end));
      if (!(answer instanceof Promise)) return answer;
      const waited = await answer;
      // Attack: a token that was removed, or a role, while its request waited.
      await proveAgain(this.#http, request);
      return waited;
    });
  }

  /** Calls `end` when the connection closes, or the rights of a request do not hold any more. Returns how to stop that. */
  #whileProved(actor: Actor, request: ApiRequest, end: () => void): () => void {
    const release = this.#http.hold(request.raw.socket, end);
    const stop = this.#http.ports.tokens.onChange?.(() => {
      void Promise.resolve(isStill(this.#http, actor, request)).then((still) => {
        if (!still) end();
      });
    });
    return () => {
      release();
      stop?.();
    };
  }

  @Endpoint(routes.requestApproval)
  requestApproval(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    return write(this.#http, routes.requestApproval, request, reply, (context, body) =>
      toolCalls.requestApproval(context, paramOf(request, 'callId'), body),
    );
  }

  @Endpoint(routes.cancelToolCall)
  cancel(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    return write(this.#http, routes.cancelToolCall, request, reply, (context, { reason }) =>
      toolCalls.cancel(context, paramOf(request, 'callId'), reason),
    );
  }

  @Endpoint(routes.getRun)
  async getRun(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    const { values } = queryOf(routes.getRun, request);
    await admitClear(this.#http, request, values, { what: 'list' });
    return read(this.#http, request, reply, (actor) => toolCalls.getRun(actor, paramOf(request, 'runId'), values));
  }

  @Endpoint(routes.cancelRun)
  cancelRun(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { toolCalls } = this.#http.gateway;
    return write(this.#http, routes.cancelRun, request, reply, (context, { reason }) =>
      toolCalls.cancelRun(context, paramOf(request, 'runId'), reason),
    );
  }
}
