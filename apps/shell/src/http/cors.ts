import type { FastifyReply, FastifyRequest } from 'fastify';

/** Lets pages of other origins read the API. Cookies never count for them: a page sends a bearer token. */
export interface Cors {
  /** The headers that every answer to this request has for browsers, as names and values; null: it is no request to the API. */
  readonly headersFor: (request: FastifyRequest) => readonly string[] | null;
  /** Answers a preflight of a served origin. Returns false for every other request. */
  readonly answerPreflight: (request: FastifyRequest, reply: FastifyReply, methods: readonly string[]) => boolean;
}

/** The inbox and its sign-in, metrics, links in mails and the channels are for their own page or server alone. */
const ofTheApi = /^\/(?:v1\/|problems\/|\.well-known\/|(?:openapi\.json|healthz|readyz)(?:\?|$))/;

/** The request headers that the API reads, and those that clients for event streams and traces send. */
const allowedHeaders = [
  ...['Authorization', 'Baggage', 'Cache-Control', 'Content-Type', 'Countersign-Client', 'Countersign-Position'],
  ...['Idempotency-Key', 'If-None-Match', 'Last-Event-ID', 'Request-Id', 'Traceparent', 'Tracestate'],
].join(', ');

/** The response headers that a page may read, besides the few that every page may. */
const exposedHeaders = [
  ...[
    'Allow',
    'Countersign-Log',
    'Countersign-Log-Missing',
    'Countersign-Position',
    'ETag',
    'Idempotent-Replayed',
    'Link',
    'Location',
  ],
  ...['RateLimit', 'RateLimit-Policy', 'Request-Id', 'Retry-After', 'WWW-Authenticate'],
].join(', ');

/** How long a browser remembers a preflight. */
const maxAgeSeconds = 600;

/**
 * The rule for pages of these origins. There is no `Access-Control-Allow-Credentials`: a browser neither sends the session of the
 * inbox along for them nor shows them an answer to it.
 */
export function createCors(origins: readonly string[]): Cors {
  const served = new Set(origins);
  // A cache must not give the answer for one origin to another one.
  const varies = ['vary', 'Origin'];
  return {
    headersFor: ({ url, headers: { origin } }) => {
      if (!ofTheApi.test(url)) return null;
      if (origin === undefined || !served.has(origin)) return varies;
      return [...varies, 'access-control-allow-origin', origin, 'access-control-expose-headers', exposedHeaders];
    },
    answerPreflight: ({ url, method, headers }, reply, methods) => {
      const isPreflight = method === 'OPTIONS' && headers['access-control-request-method'] !== undefined;
      if (!isPreflight || !ofTheApi.test(url) || !served.has(headers.origin ?? '')) return false;
      void reply
        .code(204)
        .header('access-control-allow-methods', methods.join(', '))
        .header('access-control-allow-headers', allowedHeaders)
        .header('access-control-max-age', String(maxAgeSeconds))
        .send();
      return true;
    },
  };
}

const anOrigin = 'write origins separated by commas, such as https://desk.example.com,http://localhost:5173';

/** Reads a list of origins as browsers write them, or says what is wrong with it. */
export function parseOrigins(list: string): readonly string[] | { readonly wrong: string } {
  const entries = list.split(',').map((entry) => entry.trim());
  const origins = entries.filter((entry) => entry !== '').map(originOf);
  if (list.includes('*')) return { wrong: `has a *, and every origin must be named: ${anOrigin}` };
  return origins.every((origin) => origin !== undefined) ? [...new Set(origins)] : { wrong: anOrigin };
}

function originOf(text: string): string | undefined {
  if (!/^https?:\/\//i.test(text) || !URL.canParse(text)) return undefined;
  const { origin, href } = new URL(text);
  return href === `${origin}/` ? origin : undefined;
}
