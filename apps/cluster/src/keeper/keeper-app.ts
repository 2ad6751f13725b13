import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { Log, Secret } from '@countersign/runtime';
import { createHttpServer, parseStrictJson, ProblemError, ProblemFilter, urlOf } from '@countersign/shell';
import type { Erasing } from './erasing.js';
import type { Keeper } from './keeper.js';
import { envelope, requests } from './protocol.js';
import type { RequestName } from './protocol.js';

/** Where the keeper listens, and for whom. */
export interface KeeperAddress {
  readonly host: string;
  readonly port: number;
  /** Null: plain HTTP, on this machine alone. */
  readonly tls: { readonly cert: string; readonly key: Secret } | null;
  /** Those of the processes. */
  readonly tokens: readonly Secret[];
}

const bodyBytesMax = 64 * 1024;
const names = Object.keys(requests) as RequestName[];
const pathOf = (name: RequestName): string => `/v1/${name}`;

/** Serves the keeper. Resolves when it listens. */
export async function openKeeperApp(
  { handlers, version }: Pick<Keeper, 'handlers'> & Pick<Erasing, 'version'>,
  log: Log,
  { host, port, tls, tokens }: KeeperAddress,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const filter = new ProblemFilter(log, {
    known: (error) =>
      error instanceof EventStoreUnavailableError ? { code: 'unavailable', detail: error.message } : undefined,
  });
  const { fastify, drain } = createHttpServer({
    bodyBytesMax,
    filter,
    methodsOf: (path) => (names.some((name) => pathOf(name) === path) ? ['POST'] : undefined),
    ...(tls && { tls: { cert: tls.cert, key: tls.key.reveal() } }),
  });
  const tokenOf = createTokenFinder(tokens);
  fastify.addHook('onRequest', (request, _reply, done) => {
    // Before a byte of the body is read.
    done(
      tokenOf(request) === -1 ? new ProblemError('unauthenticated', 'the keeper does not know this token') : undefined,
    );
  });
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    const parsed = parseStrictJson(body as Buffer, 'the body');
    if (parsed.status === 'ok') done(null, parsed.value);
    else done(new ProblemError('invalid-request', parsed.detail));
  });
  for (const name of names) {
    fastify.post(pathOf(name), async (request) => {
      const { session, body } = checked(envelope.request, request.body);
      // Attack: a process confirms or leaves in the name of another one. Each token has sessions of its own.
      const own = `${String(tokenOf(request))} ${session}`;
      const answer = await handlers[name](own, checked<unknown>(requests[name].body, body) as never);
      return { version: version(), answer };
    });
  }
  await fastify.listen({ host, port });
  const address = fastify.server.address() as AddressInfo;
  return {
    url: urlOf(host, address.port),
    close: async () => {
      drain();
      fastify.server.closeAllConnections();
      await fastify.close();
    },
  };
}

/** A request as far as its token is concerned. */
interface Authorized {
  readonly headers: { readonly authorization?: string | undefined };
}

interface Schema<T> {
  readonly safeParse: (value: unknown) => { readonly success: true; readonly data: T } | { readonly success: false };
}

function checked<T>(schema: Schema<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ProblemError(
    'invalid-request',
    'the request is not one of this version: start all processes with one version',
  );
}

/** Finds the place of the token among those known; -1: unknown. Compares the hashes of all, so that the time tells nothing about a token. */
function createTokenFinder(tokens: readonly Secret[]): (request: Authorized) => number {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  const known = tokens.map((token) => hash(token.reveal()));
  return ({ headers: { authorization = '' } }) => {
    const given = hash(/^Bearer (.+)$/.exec(authorization)?.[1] ?? '');
    return known.map((token) => timingSafeEqual(token, given)).indexOf(true);
  };
}
