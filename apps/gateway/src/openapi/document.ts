import { createSchemaRegistry, eventViewSchema, nameOf } from '@countersign/contracts';
import type { JsonSchema, SchemaRegistry } from '@countersign/contracts';
import type { z } from 'zod';
import { isReadByPost, templateOf } from '../route.js';
import type { Route } from '../route.js';
import { allRoutes } from '../routes.js';
import { exampleValues } from './example-values.js';
import { describedComponents, parameterWords } from './described.js';
import { withLenientNulls } from './lenient-nulls.js';
import { withNullableMembers } from './nullable-members.js';
import { responsesWithExamples, withExamples } from './with-examples.js';
import { personParameters } from './person-parameters.js';
import { responsesOf, type SharedResponses } from './responses.js';

/** The OpenAPI document of the API. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: JsonSchema;
  readonly paths: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>;
    readonly responses: Readonly<Record<string, JsonSchema>>;
  } & JsonSchema;
  readonly [member: string]: unknown;
}

const tags = {
  'Tool calls': 'Requested by agents, read by everybody of the tenant.',
  Runs: 'All calls of one agent run.',
  Approvals: 'Questions put to people, and their answers.',
  Grants: 'Standing permissions for calls of one tool.',
  Stops: 'Stops of calls, in an emergency.',
  Execution: 'By remote workers, or by the client itself.',
  Policy: 'The rules in force, and what they say of a call.',
  Oversight: 'How people decided: figures to look into.',
  'Sign-in': 'Who a token speaks for.',
  Passkeys: 'With which people sign their answers.',
  'Events and audit': 'The log: live, and for auditors.',
  Privacy: 'Erasure of the values of one subject.',
  Operations: 'For operators.',
} as const;

/**
 * The OpenAPI 3.1 document, made of the very route table and schemas that the server runs on.
 * @example
 * const { paths } = createOpenApiDocument();
 */
export function createOpenApiDocument(): OpenApiDocument {
  const book = createSchemaRegistry({ document: 'openapi' });
  const shared: SharedResponses = new Map();
  const paths: Record<string, Record<string, JsonSchema>> = {};
  for (const route of allRoutes) {
    const path = templateOf(route);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route, book, shared) };
  }
  // The JSON schema of the data of a stream's events.
  book.use(eventViewSchema, 'output', 'Event');
  const operations = Object.values(paths).flatMap((one) => Object.values(one));
  const bodies = operations.map(({ requestBody }) => (requestBody ?? {}) as JsonSchema);
  const schemas = withNullableMembers(describedComponents(book.components()), bodies);
  return {
    openapi: '3.1.0',
    info: {
      title: 'Countersign',
      version: contractVersion,
      description:
        'The approval ledger for AI agents. Every error is a problem document with a stable `code`. ' +
        'HEAD works wherever GET does: the same headers, and no body. ' +
        'In a request, null in an optional member means absent, and a member that is not described is refused. ' +
        'The version is that of this contract, not of the product: its first number is the `/v1` of the paths and grows ' +
        'with a change that breaks clients, its second with an addition.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: '/' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    security: [{ bearer: [] }],
    paths: Object.fromEntries(
      Object.entries(paths).map(([path, operations]) => [
        path,
        Object.fromEntries(
          Object.entries(operations).map(([method, operation]) => [method, withExamples(operation, schemas)]),
        ),
      ]),
    ),
    components: {
      securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } },
      headers: sharedHeaders,
      parameters: personParameters,
      responses: responsesWithExamples(Object.fromEntries(shared), schemas),
      schemas: withLenientNulls(schemas),
    },
  };
}

/** The API's version, v1: semantic versioning of what clients can rely on. */
const contractVersion = '1.0.0';

const sharedHeaders = {
  Position: {
    description: 'Where the log stood. Sent back with a GET, the answer shows at least this.',
    schema: { type: 'integer', format: 'int64', minimum: 0 },
  },
  RequestId: {
    description:
      'The id of the request: that of its header `Request-Id`, if it sent a sensible one. Every answer has it.',
    schema: { type: 'string' },
  },
  RateLimit: {
    description:
      'How many requests the principal may still send now: `"principal";r=4999;t=1`. Without a valid token it tells of the address: `"address";r=499;t=1`.',
    schema: { type: 'string' },
  },
  RateLimitPolicy: {
    description:
      'How many requests a principal, or an address without a valid token, may send per second: `"principal";q=5000;w=1`.',
    schema: { type: 'string' },
  },
  Location: { description: 'The address of what was created.', schema: { type: 'string' } },
  Link: {
    description:
      'The next page, with `rel="next"`. Absent: everything up to `Countersign-Position` was looked through.',
    schema: { type: 'string' },
    example: '</v1/audit/events?types=ApprovalResponded&after=1204>; rel="next"',
  },
  Log: {
    description: '`damaged`: stored events are damaged. What is sound is shown. Absent: none that is known.',
    schema: { type: 'string', enum: ['damaged'] },
  },
  LogMissing: {
    description: 'The positions of damaged events that the page could have had, separated by commas.',
    schema: { type: 'string' },
    example: '1204,1205',
  },
  IdempotentReplayed: {
    description: '`true`: an earlier request with the same `Idempotency-Key` was this command.',
    schema: { type: 'string', enum: ['true'] },
  },
  Authenticate: { description: 'How to authenticate: `Bearer realm="countersign"`.', schema: { type: 'string' } },
  RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 0 } },
} as const;

function operationOf(route: Route, book: SchemaRegistry, shared: SharedResponses): JsonSchema {
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    ...(route.roles === 'public'
      ? { security: [], description: 'No token is needed.' }
      : {
          description: `Role: ${route.roles.join(' or ')}.${route.mayBeOpen === true ? openWords : ''}${route.forPeople === true ? peopleWords : ''}`,
        }),
    parameters: [...pathParameters(route), ...queryParameters(route, book), ...headerParameters(route)],
    ...(route.body === undefined ? {} : { requestBody: requestBodyOf(route.body, route, book) }),
    responses: responsesOf(route, book, shared),
  };
}

const peopleWords = ' A front end sends it for a person with the headers of `components.parameters`.';
const openWords = ' No token is needed for hashes where `COUNTERSIGN_LOG_PUBLIC=hashes`.';

function requestBodyOf(body: NonNullable<Route['body']>, route: Route, book: SchemaRegistry): JsonSchema {
  const content = { schema: book.use(body, 'input', nameOf(route.id, 'body')) };
  return {
    required: route.isBodyOptional !== true,
    content: {
      'application/json': content,
      ...(route.form === true ? { 'application/x-www-form-urlencoded': content } : {}),
    },
  };
}

function pathParameters(route: Route): JsonSchema[] {
  return [...templateOf(route).matchAll(/\{([A-Za-z]+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    description: parameterWords(name),
    example: exampleValues[name],
    schema: { type: 'string' },
  }));
}

function queryParameters({ id, query }: Route, book: SchemaRegistry): JsonSchema[] {
  const shape = (query?.shape ?? {}) as Readonly<Record<string, z.ZodType>>;
  // The schema of the output: a number is always sent as digits.
  return Object.entries(shape).map(([name, schema]) => {
    const { description = parameterWords(name), ...used } = withoutAllOf(book.use(schema, 'output', nameOf(id, name)));
    return { name, in: 'query', required: false, description, ...styles[String(used['type'])], schema: used };
  });
}

/** A list is sent as one value, separated by commas; the members of an object are parameters of their own. */
const styles: Readonly<Record<string, JsonSchema>> = {
  array: { style: 'form', explode: false },
  object: { style: 'form', explode: true },
};

/** A reference alone, where the description of the parameter is the only other member. */
function withoutAllOf({ allOf, ...others }: JsonSchema): JsonSchema {
  return Array.isArray(allOf) && allOf.length === 1 ? { ...(allOf[0] as JsonSchema), ...others } : { ...others };
}

function headerParameters(route: Route): JsonSchema[] {
  const { roles, method, stream } = route;
  const header = (name: string, description: string, schema: JsonSchema): JsonSchema => ({
    name,
    in: 'header',
    required: false,
    description,
    schema,
  });
  if (roles === 'public') return [];
  const key = header(
    'Idempotency-Key',
    'The same key and body, compared as JSON with null in an optional member as absent, are the same command, which is recorded once; the response tells of now, with the status of the first one and `Idempotent-Replayed: true`. Another body is refused for 24 hours.',
    { type: 'string', minLength: 1, maxLength: 255 },
  );
  const position = header(
    'Countersign-Position',
    'Answer from a view that has reached it: the position of an earlier answer. After 2 s the answer is 503.',
    logPosition,
  );
  return [
    ...(method === 'GET' ? [] : [key]),
    ...(method === 'GET' || isReadByPost(route) ? [position] : []),
    ...(stream === 'text/event-stream' ? [header('Last-Event-ID', 'The position to resume after.', logPosition)] : []),
  ];
}

/** A position of the log, as a header has it. */
const logPosition = { type: 'integer', format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
