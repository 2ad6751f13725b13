import { Controller, Inject, Req, Res } from '@nestjs/common';
import { sendText } from '@countersign/shell';
import type { FastifyReply } from 'fastify';
import type { Answer } from '../answer.js';
import { continueLog, makeCheckpoint, readCheckpoint, readKeyChanges, readVkeys } from '../log-checkpoints.js';
import { listTimestamps, readTimestamp } from '../log-timestamps.js';
import { routes } from '../routes.js';
import { Endpoint } from './endpoint.js';
import { actorOf, answered, bodyOf, keyed, linesType, queryOf, send } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The signed checkpoints of the log. */
@Controller()
export class CheckpointsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.readCheckpoint)
  async newest(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { pending } = queryOf(routes.readCheckpoint, request);
    const { checkpoints } = this.#http.ports;
    this.#send(request, reply, await readCheckpoint(checkpoints, actorOf(request), pending === 'true'));
  }

  @Endpoint(routes.makeCheckpoint)
  async make(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.makeCheckpoint, request);
    const body = bodyOf(routes.makeCheckpoint, request);
    const { checkpoints } = this.#http.ports;
    const make = (): Promise<Answer> => makeCheckpoint(checkpoints, actorOf(request));
    this.#send(request, reply, await keyed(this.#http, routes.makeCheckpoint, request, body, make));
  }

  @Endpoint(routes.continueLog)
  async goOn(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.continueLog, request);
    const body = bodyOf(routes.continueLog, request);
    const goOn = (): Promise<Answer> => continueLog(this.#http.ports, actorOf(request), body);
    this.#send(request, reply, await keyed(this.#http, routes.continueLog, request, body, goOn));
  }

  @Endpoint(routes.readVkeys)
  async vkeys(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { all } = queryOf(routes.readVkeys, request);
    const { checkpoints } = this.#http.ports;
    this.#send(request, reply, await readVkeys(checkpoints, actorOf(request), all === 'true'));
  }

  @Endpoint(routes.readKeyChanges)
  async keyChanges(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.readKeyChanges, request);
    this.#send(request, reply, await readKeyChanges(this.#http.ports.checkpoints, actorOf(request)));
  }

  @Endpoint(routes.readTimestamp)
  async timestamp(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.readTimestamp, request);
    const bytes = await readTimestamp(this.#http.ports.checkpoints, actorOf(request), query);
    if (this.#http.isDraining()) void reply.header('connection', 'close');
    void reply.header('cache-control', 'no-cache').header('content-type', 'application/timestamp-reply');
    void reply.send(Buffer.from(bytes));
    answered(this.#http.ports, request, 200);
  }

  @Endpoint(routes.listTimestamps)
  async timestamps(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const query = queryOf(routes.listTimestamps, request);
    const text = await listTimestamps(this.#http.ports.checkpoints, actorOf(request), query);
    const headers = this.#http.isDraining() ? ['connection', 'close'] : [];
    sendText(reply, { status: 200, contentType: linesType, text, headers });
    answered(this.#http.ports, request, 200);
  }

  /** Sends a text as it is, and a problem as every other one. */
  #send(request: ApiRequest, reply: FastifyReply, answer: Answer): void {
    const { status, body, isRepeat } = answer;
    if (typeof body !== 'string') {
      send(this.#http, request, reply, answer);
      return;
    }
    const headers = this.#http.isDraining() ? ['connection', 'close'] : [];
    if (isRepeat === true) headers.push('idempotent-replayed', 'true');
    sendText(reply, { status, contentType: 'text/plain; charset=utf-8', text: body, headers });
    answered(this.#http.ports, request, status);
  }
}
