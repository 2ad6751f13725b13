import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonSchema, ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { boundsOf } from '../testing/bounds.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createOpenApiDocument } from './document.js';

interface Body {
  readonly schema: JsonSchema;
  readonly example: object;
}

const document = createOpenApiDocument();
const bounds = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).flatMap(([method, operation]) => {
    const { requestBody } = operation as {
      readonly requestBody?: { readonly content: Readonly<Record<string, Body>> };
    };
    const body = requestBody?.content['application/json'];
    if (body === undefined) return [];
    // The caller speaks for its own principal alone.
    const { agentId: _, ...example } = body.example as Readonly<Record<string, unknown>>;
    const all = boundsOf(body.schema, example, document.components.schemas);
    return all.map((bound) => ({ ...bound, method: method.toUpperCase(), url: path }));
  }),
);

let world: World;
let api: Api;
let ids: Readonly<Record<string, string>>;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  const calls = [{ toolCallId: 'call-1', toolName: 'pay', arguments: {}, needsApproval: true }];
  const { body } = await api.send<{ readonly calls: readonly ToolCallView[] }>('POST', '/v1/tool-calls', {
    ...{ as: 'other', body: { runId: 'run-1', calls } },
  });
  const { callId = '', approval = null } = body.calls[0] ?? {};
  ids = { callId, approvalId: approval?.approvalId ?? '', runId: 'run-1' };
});
afterAll(() => world.close());

interface Problem {
  readonly errors?: readonly { readonly path: string; readonly message: string }[];
}

/** A parent is a call that was recorded before, an expression has a grammar, a digest belongs to a named approval: no limit says so. */
const otherRules = /is not a recorded tool call|the expression cannot be used|so this would bind nothing/;

const send = (method: string, url: string, body: unknown) =>
  api.send<Problem>(
    method,
    url.replaceAll(/\{(\w+)\}/g, (_, name: string) => ids[name] ?? 'unknown'),
    { as: 'other', body },
  );

describe('a limit of a member of a body', () => {
  it('is read from the document', () => {
    expect(bounds.length).toBeGreaterThan(180);
  });

  it.each(bounds)('is that of the server: $method $url, $path, $limit', async ({ method, url, path, at, beyond }) => {
    const errorsOf = ({ errors = [] }: Problem): readonly string[] =>
      errors
        .filter((error) => `${error.path}.`.startsWith(`${path}.`))
        .map(({ message }) => message)
        .filter((message) => !otherRules.test(message));
    // Refused for the sake of what comes first: a member that another one excludes, or a state.
    const taken = await send(method, url, at);
    expect(taken.status).toBeLessThan(500);
    expect(errorsOf(taken.body)).toEqual([]);
    const refused = await send(method, url, beyond);
    expect([400, 413, 422]).toContain(refused.status);
    expect(errorsOf(refused.body)).toEqual([expect.stringMatching(/^(?!Invalid)/)]);
  });
});
