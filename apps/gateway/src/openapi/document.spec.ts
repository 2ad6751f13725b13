import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import { statusOf } from '@countersign/shell';
import { templateOf } from '../route.js';
import { allRoutes } from '../routes.js';
import { file } from '../testing/documented.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createOpenApiDocument } from './document.js';

const document = createOpenApiDocument();

/** The part of the document, also where it only refers to a component. */
function resolved(part: JsonSchema): JsonSchema {
  const [, kind, name = ''] = /^#\/components\/(responses|schemas)\/(.*)$/.exec(String(part['$ref'])) ?? [];
  if (kind === undefined) return part;
  return document.components[kind as 'responses' | 'schemas'][name] ?? {};
}

/** The codes that a response can have. */
function codesOf(response: JsonSchema | undefined): unknown {
  const { content } = resolved(response ?? {}) as { content: Record<string, { schema: JsonSchema }> };
  const [, own = {}] = resolved(content['application/problem+json']?.schema ?? {})['allOf'] as readonly JsonSchema[];
  return resolved((own['properties'] as Record<string, JsonSchema>)['code'] ?? {})['enum'];
}

describe('the OpenAPI document', () => {
  let world: World;
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world.close());

  it('is what the server serves', async () => {
    expect(await (await fetch(`${world.url}/openapi.json`)).json()).toEqual(document);
  });

  it('is docs/openapi.json, with which specs compare the answers (npm run openapi writes it)', () => {
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual(JSON.parse(JSON.stringify(document)));
  });

  it('has no pattern that a generator without Unicode classes cannot use', () => {
    expect(JSON.stringify(document)).not.toContain('\\\\p{');
  });

  it.each(allRoutes)('$method $path is served, and described under its id', async (route) => {
    const { method, path, id, codes } = route;
    const answer = await fetch(`${world.url}${path.replace(':code', 'expired')}`, { method });
    expect([404, 405]).not.toContain(answer.status);
    await answer.body?.cancel();
    const operation = document.paths[templateOf(route)]?.[method.toLowerCase()];
    expect(operation).toMatchObject({ operationId: id });
    const responses = operation?.['responses'] as Record<string, JsonSchema>;
    for (const code of codes) expect(codesOf(responses[String(statusOf(code))])).toContain(code);
  });

  it.each(allRoutes.filter(({ method }) => method !== 'GET'))(
    '$method $path says how a body that cannot be read is refused',
    (route) => {
      const { method } = route;
      const operation = document.paths[templateOf(route)]?.[method.toLowerCase()];
      expect(Object.keys(operation?.['responses'] as object)).toEqual(expect.arrayContaining(['413', '415']));
    },
  );

  it('refers to nothing that it does not have', () => {
    const references = JSON.stringify(document).matchAll(
      /"#\/components\/(schemas|headers|responses)\/([A-Za-z0-9]+)"/g,
    );
    const components = document.components as unknown as Record<string, Record<string, unknown>>;
    for (const [, kind = '', name = ''] of references) expect(components[kind]).toHaveProperty(name);
  });

  it('writes a problem of one code once', () => {
    const texts = Object.values(document.paths)
      .flatMap((path) => Object.values(path))
      .flatMap(({ responses }) => Object.values(responses as Record<string, JsonSchema>))
      .filter((response) => '$ref' in response);
    expect(texts.length).toBeGreaterThan(200);
    expect(document.components.responses['Unauthenticated']).toMatchObject({ description: '`unauthenticated`' });
    expect(Object.keys(document.components.responses).length).toBeLessThan(20);
  });

  it('knows the things of the contract by name', () => {
    expect(Object.keys(document.components.schemas)).toEqual(
      expect.arrayContaining([
        'Approval',
        'Batch',
        'Claim',
        'Decision',
        'Event',
        'RequestedCall',
        'Problem',
        'RequestToolCalls',
        'Requirement',
        'Respond',
        'Response',
        'Run',
        'ToolCall',
      ]),
    );
  });

  it('allows no unknown members in any body, as the server does', () => {
    const { schemas } = document.components;
    for (const name of [
      'RequestToolCalls',
      'RequestApproval',
      'Respond',
      'RespondInBulk',
      'Cancel',
      'ClaimExecution',
    ]) {
      expect(schemas[name]).toMatchObject({ additionalProperties: false });
    }
  });

  it('names query and path parameters, and the headers that a client may send', () => {
    const text = JSON.stringify(document.paths['/v1/tool-calls/{callId}']);
    for (const name of ['callId', 'waitMs', 'until', 'Countersign-Position'])
      expect(text).toContain(`"name":"${name}"`);
    expect(JSON.stringify(document.paths['/v1/tool-calls'])).toContain('Idempotency-Key');
    expect(JSON.stringify(document.paths['/v1/events'])).toContain('Last-Event-ID');
  });
});
