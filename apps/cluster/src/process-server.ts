import { createHash, timingSafeEqual } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { Log, Secret } from '@countersign/runtime';
import { createHttpServer, parseStrictJson, ProblemError, ProblemFilter, urlOf } from '@countersign/shell';

/** Where a role listens for the other processes of the cluster. */
export interface ProcessAddress {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: plain HTTP, on this machine alone. */
  readonly tls: { readonly cert: string; readonly key: Secret } | null;
  /** Those of the processes. */
  readonly tokens: readonly Secret[];
}

/** What a role answers to the other processes: each request is `POST /v1/<name>` with a JSON body. */
export interface ProcessRequests {
  /** The role in words, such as `the keeper`. */
  readonly role: string;
  readonly names: readonly string[];
  /** `token`: the place of the caller's token. */
  readonly answer: (name: string, body: unknown, token: number) => unknown;
  /** Whether the error only means that the role cannot answer at the moment. */
  readonly isPassing: (error: unknown) => boolean;
}

/** A server that listens. */
export interface ProcessServer {
  readonly url: string;
  readonly close: () => Promise<void>;
}

const bodyBytesMax = 64 * 1024;
const pathOf = (name: string): string => `/v1/${name}`;

/** Serves a role for the processes that have a token. Resolves when it listens. */
export async function openProcessServer(
  { role, names, answer, isPassing }: ProcessRequests,
  log: Log,
  { host, port, tls, tokens }: ProcessAddress,
): Promise<ProcessServer> {
  const filter = new ProblemFilter(log, {
    known: (error) => (isPassing(error) ? { code: 'unavailable', detail: (error as Error).message } : undefined),
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
    done(tokenOf(request) === -1 ? new ProblemError('unauthenticated', `${role} does not know this token`) : undefined);
  });
  fastify.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    const parsed = parseStrictJson(body as Buffer, 'the body');
    if (parsed.status === 'ok') done(null, parsed.value);
    else done(new ProblemError('invalid-request', parsed.detail));
  });
  for (const name of names) {
    fastify.post(pathOf(name), async (request) => answer(name, request.body, tokenOf(request)));
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

interface Schema<T> {
  readonly safeParse: (value: unknown) => { readonly success: true; readonly data: T } | { readonly success: false };
}

/** Returns the parsed body. @throws ProblemError when it is none of this version */
export function checked<T>(schema: Schema<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw new ProblemError(
    'invalid-request',
    'the request is not one of this version: start all processes with one version',
  );
}

/** A request as far as its token is concerned. */
interface Authorized {
  readonly headers: { readonly authorization?: string | undefined };
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
