import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, jest } from '@jest/globals';
import { journeys } from '../clients/journeys.ts';
import { npmFolder, root, run } from '../clients/tools.ts';

jest.setTimeout(900_000);

describe('the document of the messages, as other tools read it', () => {
  it('gives a name to nearly every model of the messages', async () => {
    const packages = await npmFolder('modelina');
    cpSync(join(journeys, 'models.mjs'), join(packages, 'models.mjs'));
    const printed = await run(packages, {}, process.execPath, 'models.mjs', join(root, 'docs', 'asyncapi.json'));
    const { models, anonymous } = JSON.parse(printed) as { models: number; anonymous: readonly string[] };
    expect(models).toBeGreaterThan(50);
    expect([...anonymous].slice(0, Math.ceil(models * 0.05) + 1).length).toBeLessThanOrEqual(models * 0.05);
  });
});
