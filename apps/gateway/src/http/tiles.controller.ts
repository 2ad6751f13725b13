import { createHash } from 'node:crypto';
import { Controller, Inject, Req, Res } from '@nestjs/common';
import { ProblemError } from '@countersign/shell';
import type { FastifyReply } from 'fastify';
import type { Answer } from '../answer.js';
import { notHere, readCheckpoint, readKeyChanges } from '../log-checkpoints.js';
import { isFullTile, readTile, tenantNamed } from '../log-tiles.js';
import type { LogTiles } from '../log-tiles.js';
import { routes } from '../routes.js';
import { isOpenRead } from './admit.js';
import { Endpoint } from './endpoint.js';
import { actorOf, answered, queryOf, send } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';

/** The log as tiles. */
@Controller()
export class TilesController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.readTile)
  async tile(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.readTile, request);
    await this.#sendTile(request, reply, this.#tiles(), actorOf(request).tenant);
  }

  @Endpoint(routes.readTileOf)
  async tileOf(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.readTileOf, request);
    const tiles = this.#tiles();
    await this.#sendTile(request, reply, tiles, await this.#tenantOf(request, tiles));
  }

  @Endpoint(routes.readCheckpointOf)
  async checkpointOf(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.readCheckpointOf, request);
    const tenant = await this.#tenantOf(request, this.#tiles());
    this.#sendText(request, reply, await readCheckpoint(this.#http.ports.checkpoints, { tenant }));
  }

  @Endpoint(routes.readKeyChangesOf)
  async keyChangesOf(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    queryOf(routes.readKeyChangesOf, request);
    const tenant = await this.#tenantOf(request, this.#tiles());
    this.#sendText(request, reply, await readKeyChanges(this.#http.ports.checkpoints, { tenant }));
  }

  #tiles(): LogTiles {
    const { tiles } = this.#http.ports;
    if (tiles === undefined) throw notHere();
    return tiles;
  }

  /** The tenant of the path. Attack: a token of another tenant. It learns only that there is nothing for it. */
  async #tenantOf(request: ApiRequest, tiles: LogTiles): Promise<string> {
    const tenant = await tenantNamed(tiles, paramsOf(request)['tenant'] ?? '');
    const mayRead = isOpenRead(this.#http.ports, request) || actorOf(request).tenant === tenant;
    if (tenant === undefined || !mayRead) throw nothingHere();
    return tenant;
  }

  async #sendTile(request: ApiRequest, reply: FastifyReply, tiles: LogTiles, tenant: string): Promise<void> {
    const path = `tile/${paramsOf(request)['*'] ?? ''}`;
    const bytes = await readTile(tiles, tenant, path);
    if (bytes === undefined) throw nothingHere();
    const reader = request.actor === undefined ? 'public' : 'private';
    const cache = isFullTile(path) ? `${reader}, max-age=31536000, immutable` : 'no-cache';
    this.#send(request, reply, { bytes, type: 'application/octet-stream', cache });
  }

  #sendText(request: ApiRequest, reply: FastifyReply, answer: Answer): void {
    if (typeof answer.body !== 'string') send(this.#http, request, reply, answer);
    else this.#send(request, reply, { bytes: Buffer.from(answer.body), type: textType, cache: 'no-cache' });
  }

  #send(request: ApiRequest, reply: FastifyReply, { bytes, type, cache }: Sent): void {
    const tag = `"${createHash('sha256').update(bytes).digest('hex').slice(0, 32)}"`;
    const isKnown = (request.headers['if-none-match'] ?? '').split(/, */).includes(tag);
    const status = isKnown ? 304 : 200;
    if (this.#http.isDraining()) void reply.header('connection', 'close');
    // Attack: a cache that gives the answer for one token to another one.
    void reply.status(status).header('etag', tag).header('cache-control', cache).header('vary', 'authorization');
    if (isKnown) void reply.send();
    else void reply.header('content-type', type).send(Buffer.from(bytes));
    answered(this.#http.ports, request, status);
  }
}

interface Sent {
  readonly bytes: Uint8Array;
  readonly type: string;
  readonly cache: string;
}

const textType = 'text/plain; charset=utf-8';

function nothingHere(): ProblemError {
  return new ProblemError('not-found', 'the log has no such tile: its name is another one, or it is not signed yet');
}

function paramsOf({ params }: ApiRequest): Readonly<Record<string, string>> {
  return params as Readonly<Record<string, string>>;
}
