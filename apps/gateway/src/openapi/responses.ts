import type { ErrorCode, JsonSchema, SchemaRegistry } from '@countersign/contracts';
import { nameOf, problemSchema } from '@countersign/contracts';
import { statusOf } from '@countersign/shell';
import { isReadByPost } from '../route.js';
import type { Route } from '../route.js';

/** The error codes of a route: its own, and those of reading, authenticating and repeating a request. */
function codesOf(route: Route): readonly ErrorCode[] {
  if (route.roles === 'public') return ['internal-error', ...route.codes];
  return [
    'invalid-request',
    'unauthenticated',
    'forbidden',
    'too-many-requests',
    'misdirected-request',
    ...(route.method === 'GET' || isReadByPost(route) ? (['future-position'] as const) : []),
    ...(route.method === 'GET'
      ? []
      : (['payload-too-large', 'unsupported-media-type', 'idempotency-key-reused', 'unreadable'] as const)),
    ...route.codes,
    'internal-error',
    'unavailable',
  ];
}

/** The problems that many routes have in common, by the name of their one code. */
export type SharedResponses = Map<string, JsonSchema>;

/** The responses of a route, by status. */
export function responsesOf(route: Route, book: SchemaRegistry, shared: SharedResponses): Record<string, JsonSchema> {
  return { ...successes(route, book), ...problems(route, book, shared) };
}

const streamSchemas: Readonly<Record<string, JsonSchema>> = {
  'application/json': { type: 'object' },
  'application/octet-stream': { type: 'string', format: 'binary' },
  'application/timestamp-reply': { type: 'string', format: 'binary' },
};

const successWords: Readonly<Record<string, string>> = {
  200: 'Done',
  201: 'Recorded',
  202: 'Recorded: the call waits for its turn',
};

function successes(route: Route, book: SchemaRegistry): Record<string, JsonSchema> {
  if (route.stream !== undefined) {
    const schema = streamSchemas[route.stream] ?? { type: 'string' };
    const ofStream = route.method === 'GET' ? [] : ['IdempotentReplayed'];
    const ofPages = route.isPaged === true ? ['Position', 'Link', 'Log', 'LogMissing'] : [];
    const binary = (route.files ?? []).map((type) => [type, { schema: { type: 'string' } }] as const);
    const { description, ...example } = route.streamed ?? { description: streamWords[route.stream] };
    return {
      200: {
        description,
        headers: headersNamed(...ofStream, ...ofPages),
        content: { [route.stream]: { schema, ...example }, ...Object.fromEntries(binary) },
      },
    };
  }
  const ofWrite = route.method === 'GET' ? [] : [...(isReadByPost(route) ? [] : ['Position']), 'IdempotentReplayed'];
  return Object.fromEntries(
    Object.entries(route.answers ?? {}).map(([status, schema]) => [
      status,
      {
        description: successWords[status] ?? 'Done',
        headers: headersNamed(...ofWrite, ...(status === '201' ? ['Location'] : [])),
        content: {
          'application/json': { schema: book.use(schema, 'output', nameOf(route.id, 'result')) },
          ...(route.hasCsv === true ? { 'text/csv': { schema: { type: 'string' } } } : {}),
        },
      },
    ]),
  );
}

/** Those that every answer has, and these. */
function headersNamed(...names: readonly string[]): JsonSchema {
  const all = ['RequestId', 'RateLimit', 'RateLimitPolicy', ...names];
  return Object.fromEntries(all.map((name) => [headerNames[name] ?? name, { $ref: `#/components/headers/${name}` }]));
}

const headerNames: Readonly<Record<string, string>> = {
  Position: 'Countersign-Position',
  Log: 'Countersign-Log',
  LogMissing: 'Countersign-Log-Missing',
  RequestId: 'Request-Id',
  RateLimitPolicy: 'RateLimit-Policy',
  IdempotentReplayed: 'Idempotent-Replayed',
  RetryAfter: 'Retry-After',
  Authenticate: 'WWW-Authenticate',
};

const streamWords = {
  'text/event-stream':
    'Server-sent events: `id` is the position in the log, `event` the type, `data` an Event as JSON. Comments are heartbeats.',
  'application/x-ndjson': 'One Event as JSON on each line.',
  'application/json': 'An OpenAPI 3.1 document.',
  'text/plain': "Prometheus' text format.",
  'application/octet-stream': 'Bytes.',
  'application/timestamp-reply': 'A `TimeStampResp` of RFC 3161, in DER.',
} as const;

function problems(route: Route, book: SchemaRegistry, shared: SharedResponses): Record<string, JsonSchema> {
  const byStatus = new Map<number, ErrorCode[]>();
  for (const code of codesOf(route)) {
    const status = statusOf(code);
    byStatus.set(status, [...new Set([...(byStatus.get(status) ?? []), code])]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => {
      const [code = '', ...more] = codes;
      if (more.length > 0)
        return [
          String(status),
          withReplayed(route, problemOf(status, codes, book, nameOf(route.id, 'problem', String(status)))),
        ];
      const name = nameOf(code);
      shared.set(name, problemOf(status, codes, book, nameOf(code, 'problem')));
      return [String(status), { $ref: `#/components/responses/${name}` }];
    }),
  );
}

/** A repeat with the same key can be refused: the rules judge it now. */
function withReplayed({ method }: Route, problem: JsonSchema): JsonSchema {
  const replayed = method === 'GET' ? {} : headersNamed('IdempotentReplayed');
  return { ...problem, headers: { ...(problem['headers'] as JsonSchema), ...replayed } };
}

function problemOf(status: number, codes: readonly ErrorCode[], book: SchemaRegistry, name: string): JsonSchema {
  return {
    description: codes.map((code) => `\`${code}\``).join(', '),
    headers: headersNamed(...(ofStatus[status] ?? [])),
    content: { 'application/problem+json': { schema: problemWith(codes, book, name) } },
  };
}

const ofStatus: Readonly<Record<number, readonly string[]>> = {
  401: ['Authenticate'],
  429: ['RetryAfter'],
  503: ['RetryAfter'],
};

/** The winning response, which `already-resolved` carries in addition to the members of every problem. */
const winner = {
  resolution: { type: 'string' },
  respondedBy: { type: ['string', 'null'] },
  respondedAt: { type: ['string', 'null'] },
  via: { type: ['string', 'null'] },
} as const;

function problemWith(codes: readonly ErrorCode[], book: SchemaRegistry, name: string): JsonSchema {
  const more = codes.includes('already-resolved') ? winner : {};
  return book.define(name, {
    description: `A problem with the code ${codes.map((code) => `\`${code}\``).join(', ')}.`,
    allOf: [
      book.use(problemSchema, 'output', 'Problem'),
      { type: 'object', properties: { code: { type: 'string', enum: codes }, ...more } },
    ],
  });
}
