import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import { statusOf } from '@countersign/shell';
import { allRoutes } from '../routes.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createOpenApiDocument } from './document.js';

const document = createOpenApiDocument();

/** A response, also where the document only refers to it. */
function resolved(response: JsonSchema): JsonSchema {
  const name = /^#\/components\/responses\/(.*)$/.exec(String(response['$ref']))?.[1];
  return name === undefined ? response : (document.components.responses[name] ?? {});
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

  it('has no pattern that a generator without Unicode classes cannot use', () => {
    expect(JSON.stringify(document)).not.toContain('\\\\p{');
  });

  it.each(allRoutes)('$method $path is served, and described under its id', async ({ method, path, id, codes }) => {
    const answer = await fetch(`${world.url}${path}`, { method });
    expect([404, 405]).not.toContain(answer.status);
    await answer.body?.cancel();
    const operation = document.paths[path.replaceAll(/:([A-Za-z]+)/g, '{$1}')]?.[method.toLowerCase()];
    expect(operation).toMatchObject({ operationId: id });
    const responses = operation?.['responses'] as Record<string, unknown>;
    const textOf = (code: (typeof codes)[number]): string =>
      JSON.stringify(resolved(responses[String(statusOf(code))] as JsonSchema));
    for (const code of codes) expect(textOf(code)).toContain(`"${code}"`);
  });

  it.each(allRoutes.filter(({ method }) => method !== 'GET'))(
    '$method $path says how a body that cannot be read is refused',
    ({ method, path }) => {
      const operation = document.paths[path.replaceAll(/:([A-Za-z]+)/g, '{$1}')]?.[method.toLowerCase()];
      expect(Object.keys(operation?.['responses'] as object)).toEqual(expect.arrayContaining(['413', '415']));
    },
  );

  it('refers to nothing that it does not have', () => {
    const references = JSON.stringify(document).matchAll(/"#\/components\/(schemas|headers|responses)\/([A-Za-z]+)"/g);
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
        'Claim',
        'Event',
        'Problem',
        'RequestToolCalls',
        'Respond',
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
