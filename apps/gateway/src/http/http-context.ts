import { Readable } from 'node:stream';
import type { IncomingMessage } from 'node:http';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { provenKey } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { canonicalJson, gatherLabels, parseBody } from '@countersign/contracts';
import type { JsonValue, Refusal } from '@countersign/contracts';
import { ProblemError, retryAfter, sendText, toFieldErrors } from '@countersign/shell';
import type { HttpServer, Problem, TracedAnswer } from '@countersign/shell';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Answer } from '../answer.js';
import type { WriteContext } from '../conclude.js';
import type { Gateway } from '../gateway.js';
import { turnsOfOthers } from '../limits/breather.js';
import type { GatewayPorts } from '../ports.js';
import type { Route } from '../route.js';
import { invalidRequest, parseWith } from '../validation.js';
import { authenticate } from './authenticate.js';

/** A request as a controller receives it: authenticated, with a body that every JSON parser reads in the same way. */
export interface ApiRequest extends FastifyRequest {
  /** Undefined on public routes alone. */
  actor: Actor | undefined;
  bodyLength: number;
  /** On the monotonic clock. */
  startedAtMs: number;
  /** The id of its route in the table; `none` until the guard has looked. */
  routeId: string;
  endSpan: ((answer: TracedAnswer) => void) | undefined;
  readonly raw: IncomingMessage;
}

/** Turns requests into gateway calls, and results into responses. */
export interface HttpContext {
  readonly ports: GatewayPorts;
  readonly gateway: Gateway;
  /** The public URL of the gateway behind a proxy. */
  readonly publicUrl: URL | undefined;
  /** The process is about to stop: connections are not kept. */
  readonly isDraining: () => boolean;
  /** Holds a connection and reports when it closes. */
  readonly hold: HttpServer['hold'];
}

const nothing = z.strictObject({});
const keyLengthMax = 255;

/** The sender of the request. */
export function actorOf(request: ApiRequest): Actor {
  if (request.actor === undefined) throw new ProblemError('unauthenticated', 'this needs a bearer token');
  return request.actor;
}

/**
 * Returns whether a continuing request would still be accepted, from the same sender with the same rights. A promise only for a
 * token that a provider signed.
 */
export function isStill(
  { ports, publicUrl }: HttpContext,
  actor: Actor,
  request: ApiRequest,
): boolean | Promise<boolean> {
  // Most tokens have the same actor until the file of tokens changes, and the headers of a request never change.
  if (ports.tokens.isInForce(actor)) return true;
  const isSame = (proved: Actor): boolean => proved === actor || isDeepStrictEqual(proved, actor);
  try {
    const proved = authenticate(ports, request, publicUrl);
    return proved instanceof Promise ? proved.then(isSame, () => false) : isSame(proved);
  } catch {
    return false;
  }
}

/**
 * Attack: requests with a stolen token send their last bytes only after it was removed. The sender is proved before the body
 * is read, so it is proved again before anything is done. Returns a promise where the proof takes time.
 * @throws ProblemError `unauthenticated`
 */
export function proveAgain(http: HttpContext, request: ApiRequest): Promise<void> | undefined {
  const still = isStill(http, actorOf(request), request);
  if (still instanceof Promise) return still.then(refuseChanged);
  refuseChanged(still);
  return undefined;
}

function refuseChanged(isSame: boolean): void {
  if (isSame) return;
  throw new ProblemError('unauthenticated', 'the rights of this request have changed while it was on the way');
}

/** A parameter of the path. */
export function paramOf(
  request: ApiRequest,
  name: 'callId' | 'approvalId' | 'runId' | 'stopId' | 'grantId' | 'credentialId' | 'person' | 'code',
): string {
  return (request.params as Readonly<Record<string, string>>)[name] ?? '';
}

/** The query, validated by the route. An unknown parameter is refused. */
export function queryOf<Q extends z.ZodObject>(route: Route<z.ZodType, Q>, request: ApiRequest): z.output<Q> {
  const query = request.query as Readonly<Record<string, unknown>>;
  const hasLabels = route.query !== undefined && 'labels' in route.query.shape;
  return parseWith(route.query ?? nothing, hasLabels ? gatherLabels(query) : query) as z.output<Q>;
}

/**
 * Attack: many large requests at once. A large body costs up to half a second, so other requests run between two of
 * them.
 */
const largeBodyBytes = 64 * 1024;

/** Reads a body, runs the command, the same one for each repeat of an idempotency key, and sends the response. */
export function write<B extends z.ZodType>(
  http: HttpContext,
  route: Route<B>,
  request: ApiRequest,
  reply: FastifyReply,
  run: (context: WriteContext, body: z.output<B>) => Promise<Answer>,
): Promise<void> {
  if (request.bodyLength <= largeBodyBytes) return writeNow(http, route, request, reply, run);
  return http.gateway.caps.largeBodies.run(provenKey(actorOf(request)), async () => {
    for (let turn = 0; turn < turnsOfOthers; turn += 1) await setImmediate();
    await writeNow(http, route, request, reply, run);
  });
}

async function writeNow<B extends z.ZodType>(
  http: HttpContext,
  route: Route<B>,
  request: ApiRequest,
  reply: FastifyReply,
  run: (context: WriteContext, body: z.output<B>) => Promise<Answer>,
): Promise<void> {
  const actor = actorOf(request);
  // A route with a query reads it itself.
  if (route.query === undefined) refuseQuery(request);
  const body = bodyOf(route, request);
  const answer = await keyed(http, route, request, body, (commandId) => run({ actor, commandId }, body));
  send(http, request, reply, answer);
}

/** Runs a request with this validated body, under its idempotency key if it has one, if its sender has their rights still. */
export async function keyed(
  http: HttpContext,
  route: Route,
  request: ApiRequest,
  body: unknown,
  run: (commandId: string) => Promise<Answer>,
): Promise<Answer> {
  const proving = proveAgain(http, request);
  if (proving !== undefined) await proving;
  const key = request.headers['idempotency-key'];
  if (key === undefined) return run(http.ports.ids.uuid());
  // What means the same is the same body: other spaces, another order, null in place of nothing.
  const bytes = Buffer.from(canonicalJson(body as JsonValue));
  const target = `${route.method} ${request.url}`;
  return http.gateway.idempotency.answer({ actor: actorOf(request), target, key: checkedKey(key), bytes }, run);
}

/** The body, validated by the route. */
export function bodyOf<B extends z.ZodType>(route: Route<B>, request: ApiRequest): z.output<B> {
  const { body } = request;
  if (body === undefined && route.body !== undefined && route.isBodyOptional !== true) {
    throw new ProblemError('invalid-request', 'this needs a JSON body');
  }
  const oversize = route.oversize?.(body, request.bodyLength) ?? [];
  if (oversize.length > 0) {
    const detail = oversize.map(({ path, message }) => `${path} ${message}`).join('; ');
    throw new ProblemError('payload-too-large', detail, { errors: oversize });
  }
  const { data, error } = parseBody<z.ZodType>(route.body ?? nothing, body === undefined ? {} : body);
  if (error !== undefined) throw invalidRequest(toFieldErrors(error));
  return data as z.output<B>;
}

function checkedKey(key: string | string[]): string {
  if (typeof key === 'string' && key !== '' && key.length <= keyLengthMax) return key;
  throw invalidRequest([{ path: 'Idempotency-Key', message: `must have 1 to ${String(keyLengthMax)} characters` }]);
}

/** Refuses every parameter of a query. */
export function refuseQuery(request: ApiRequest): void {
  if (request.url.includes('?')) parseWith(nothing, request.query);
}

/** Sends the result of a read. The read model has the position that the client has seen (`whenSeen`). */
export async function read(
  http: HttpContext,
  request: ApiRequest,
  reply: FastifyReply,
  run: (actor: Actor) => Answer | Promise<Answer>,
): Promise<void> {
  const { reads } = http.gateway.caps;
  const actor = actorOf(request);
  const holder = provenKey(actor);
  const answer = await reads.run(holder, () => run(actor));
  await reads.run(holder, () => {
    send(http, request, reply, answer);
  });
}

/** The type of JSON lines. */
export const linesType = 'application/x-ndjson';

/**
 * Sends JSON lines as they are made. The next ones are made only after the socket has accepted the current ones. It
 * counts as one of the sender's streams: take the place before the work begins.
 */
export function sendLines(reply: FastifyReply, lines: AsyncGenerator<string, void>, isRepeat = false): void {
  if (isRepeat) void reply.header('idempotent-replayed', 'true');
  const body = Readable.from(lines, { objectMode: false, highWaterMark: 64 * 1024 });
  void reply.status(200).header('content-type', linesType).send(body);
}

/** Calls `fn` once, when the response is complete or the connection is closed. */
export function whenOver({ hold }: HttpContext, request: ApiRequest, reply: FastifyReply, fn: () => void): void {
  const release = hold(request.raw.socket, fn);
  reply.raw.once('close', () => {
    release();
    fn();
  });
}

/** A position of the log in a header. */
export function positionOf(name: string, value: string | string[]): number {
  const position = typeof value === 'string' && /^[0-9]{1,16}$/.test(value) ? Number(value) : NaN;
  if (Number.isSafeInteger(position)) return position;
  throw invalidRequest([{ path: name, message: 'must be a position of the log, a whole number' }]);
}

/** The header of a page that shows the sound events of a log with damaged ones; nothing for a sound log. */
export function markOf({ isLogDamaged }: Pick<GatewayPorts, 'isLogDamaged'>): Readonly<Record<string, string>> {
  return isLogDamaged?.() === true ? { 'countersign-log': 'damaged' } : {};
}

/** Returns whether a request runs the handler of GET. */
export function isGet({ method }: Pick<FastifyRequest, 'method'>): boolean {
  return method === 'GET' || method === 'HEAD';
}

/** Sends a finished JSON text, without a serializer. */
export function send(
  { ports, isDraining }: HttpContext,
  request: ApiRequest,
  reply: FastifyReply,
  answer: Answer,
): void {
  const { status, body, position, isRepeat } = answer;
  const headers: string[] = [];
  if (position !== undefined) headers.push('countersign-position', String(position));
  if (isGet(request)) headers.push(...Object.entries(markOf(ports)).flat());
  if (isRepeat === true) headers.push('idempotent-replayed', 'true');
  const location = status === 201 ? locationOf(body) : undefined;
  if (location !== undefined) headers.push('location', location);
  if (status === 429) headers.push('retry-after', retryAfter({ extra: body as Refusal['extra'] }));
  if (isDraining()) headers.push('connection', 'close');
  sendText(reply, { status, contentType: status >= 400 ? problemJson : json, text: textOf(request, answer), headers });
  if (status === 403) logForbidden(ports, request, answer);
  answered(ports, request, status, body);
}

function textOf({ id: instance }: ApiRequest, { status, body }: Answer): string {
  return JSON.stringify(status >= 400 ? { ...(body as Problem), instance } : body);
}

/** The address of what was created: of one call its own, of several that of their run. */
function locationOf(body: unknown): string | undefined {
  const { approvalId, grantId, credentialId, calls, stop } = body as {
    readonly approvalId?: string;
    readonly credentialId?: string;
    readonly grantId?: string;
    readonly stop?: { readonly stopId: string };
    readonly calls?: readonly { readonly callId: string; readonly runId: string }[];
  };
  const [call, ...others] = calls ?? [];
  if (call !== undefined)
    return others.length === 0 ? `/v1/tool-calls/${call.callId}` : `/v1/runs/${encodeURIComponent(call.runId)}`;
  if (approvalId !== undefined) return `/v1/approvals/${approvalId}`;
  if (stop !== undefined) return `/v1/stops/${stop.stopId}`;
  if (credentialId !== undefined) return `/v1/me/passkeys/${credentialId}`;
  return grantId === undefined ? undefined : `/v1/grants/${grantId}`;
}

const [json, problemJson] = ['application/json; charset=utf-8', 'application/problem+json; charset=utf-8'];

/** Counts a finished request, and ends its span. */
export function answered({ metrics }: GatewayPorts, request: ApiRequest, status: number, body?: unknown): void {
  // A request that the server refused before reading it has no start time.
  if (request.startedAtMs > 0)
    metrics.requestAnswered(request.routeId, status, performance.now() - request.startedAtMs);
  request.endSpan?.({ status, callIds: callIdsIn(body) });
}

/** The ids of the calls in a response. In some responses `calls` is their number. */
function callIdsIn(body: unknown): string[] {
  const { calls } = (body ?? {}) as { readonly calls?: readonly { readonly callId: string }[] | number };
  return typeof calls === 'object' ? calls.map(({ callId }) => callId) : [];
}

function logForbidden({ log }: GatewayPorts, { actor, routeId }: ApiRequest, { code }: Answer): void {
  const { principal, tenant } = actor ?? {};
  log.warn({ principal, tenant, route: routeId, code }, 'refused: not allowed');
}
