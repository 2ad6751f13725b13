import { Controller, Inject, Req, Res } from '@nestjs/common';
import type { Actor } from '@countersign/commands';
import { eventTypes, isCallId, unreadableType } from '@countersign/contracts';
import { requestHeaders, safeHeaders } from '@countersign/shell';
import type { FastifyReply } from 'fastify';
import { proveCall } from '../call-proof.js';
import type { EventSelection } from '../event-feed.js';
import type { EventSink } from '../event-reader.js';
import { routes } from '../routes.js';
import { invalidRequest } from '../validation.js';
import { admitClear } from './clear-values.js';
import { Endpoint } from './endpoint.js';
import { actorOf, isStill, markOf, paramOf, positionOf, queryOf, read, whenOver } from './http-context.js';
import type { ApiRequest, HttpContext } from './http-context.js';
import { httpContextToken } from './http-context-token.js';
import { refuseFuture } from './when-seen.js';

/** The log, as a stream of events for programs, and the events of one call for auditors. */
@Controller()
export class StreamsController {
  readonly #http: HttpContext;

  constructor(@Inject(httpContextToken) http: HttpContext) {
    this.#http = http;
  }

  @Endpoint(routes.streamEvents)
  async stream(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { after = 0, types, ...filter } = queryOf(routes.streamEvents, request);
    const lastEventId = request.headers['last-event-id'];
    const selection = {
      ...filter,
      // A reconnecting reader sends the same address again, with its last event id.
      after: lastEventId === undefined ? after : positionOf('Last-Event-ID', lastEventId),
      types: types === undefined ? undefined : typesOf(types),
    };
    const actor = actorOf(request);
    if (selection.after !== 'now') await this.#refuseFuture(actor, selection.after);
    await admitClear(this.#http, request, selection.values, streamRead(selection));
    if (request.method === 'HEAD') {
      sendHead(reply, { ...eventStreamHeaders, ...markOf(this.#http.ports) });
      return;
    }
    const onClose = (listener: () => void): void => {
      whenOver(this.#http, request, reply, listener);
    };
    this.#http.gateway.events.open(
      actor,
      selection,
      () => openSink(reply, markOf(this.#http.ports), onClose),
      async () => isStill(this.#http, actor, request),
    );
  }

  @Endpoint(routes.auditToolCall)
  async auditToolCall(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { audit } = this.#http.gateway;
    const { asOf, values } = queryOf(routes.auditToolCall, request);
    const callId = paramOf(request, 'callId');
    await admitClear(this.#http, request, values, { what: 'call', ...(isCallId(callId) && { callId }) });
    return read(this.#http, request, reply, (actor) => audit.callEvents(actor, callId, asOf, values));
  }

  @Endpoint(routes.proveToolCall)
  async prove(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { values = 'stored' } = queryOf(routes.proveToolCall, request);
    const callId = paramOf(request, 'callId');
    if (isCallId(callId)) await admitClear(this.#http, request, values, { what: 'call', callId });
    return read(this.#http, request, reply, (actor) => proveCall(this.#http.ports, actor, callId, values));
  }

  @Endpoint(routes.listUnreadable)
  unreadable(@Req() request: ApiRequest, @Res() reply: FastifyReply): Promise<void> {
    const { audit } = this.#http.gateway;
    queryOf(routes.listUnreadable, request);
    return read(this.#http, request, reply, (actor) => Promise.resolve(audit.unreadable(actor)));
  }

  #refuseFuture(actor: Actor, position: number): Promise<void> {
    const { ports, gateway } = this.#http;
    return refuseFuture(ports, gateway.caps, actor, position);
  }
}

/** What the log of record says of a stream of values in clear. */
function streamRead({ after, callId }: EventSelection): Parameters<typeof admitClear>[3] {
  return {
    what: 'stream',
    ...(callId !== undefined && isCallId(callId) && { callId }),
    ...(after !== 'now' && { after }),
  };
}

function typesOf(list: string): ReadonlySet<string> {
  const types = list.split(',').filter((type) => type !== '');
  const known: readonly string[] = [...eventTypes, unreadableType];
  const unknown = types.filter((type) => !known.includes(type));
  if (unknown.length > 0) throw invalidRequest([{ path: 'types', message: `there is no event ${unknown.join(', ')}` }]);
  return new Set(types);
}

/** The headers of a stream, and its end: a client asks what the stream would be. */
export function sendHead(reply: FastifyReply, headers: Readonly<Record<string, string>>): void {
  reply.hijack();
  reply.raw.writeHead(200, { ...safeHeaders, ...headers, ...ofRequest(reply) });
  reply.raw.end();
}

function ofRequest({ request }: FastifyReply): Readonly<Record<string, string>> {
  const lines = requestHeaders(request);
  return Object.fromEntries(lines.flatMap((name, at) => (at % 2 === 0 ? [[name, lines[at + 1] ?? '']] : [])));
}

// A proxy that waits for a full buffer would hold events back.
const eventStreamHeaders = { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' };

/** Takes the socket from fastify, because a stream has no end and no length. */
function openSink(
  reply: FastifyReply,
  mark: Readonly<Record<string, string>>,
  onClose: EventSink['onClose'],
): EventSink {
  const { raw } = reply;
  reply.hijack();
  raw.writeHead(200, { ...safeHeaders, ...eventStreamHeaders, ...mark, ...ofRequest(reply) });
  // `close` reports a broken connection. An `error` without a listener would end the process.
  raw.on('error', () => undefined);
  return {
    write: (text) => raw.write(text),
    onDrain: (listener) => raw.once('drain', listener),
    onClose,
    // Bytes that a full socket has not accepted by now are dropped, or the shutdown would wait for ever.
    end: () => (raw.writableNeedDrain ? raw.destroy() : raw.end()),
  };
}
