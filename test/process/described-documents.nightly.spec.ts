import { cpSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { document } from '../clients/generated.ts';
import { journeys } from '../clients/journeys.ts';
import { recordCalls } from '../clients/recorded.ts';
import { npmFolder, root, run } from '../clients/tools.ts';
import { hasPython, installPython } from '../python-environment.ts';
import { cleanUpAfterAll, temporaryFolder } from './harness/cleanup.js';
import { install, type Installation } from './harness/standalone.js';

jest.setTimeout(900_000);

let server: Installation;
beforeAll(async () => {
  server = await install();
});
cleanUpAfterAll();

describe('the documents, as other tools read them', () => {
  (hasPython ? it : it.skip)('schemathesis finds no answer that the OpenAPI document does not describe', async () => {
    const python = await installPython('schemathesis', 'test/clients/requirements-schemathesis.txt');
    const { agent, me, worker } = server.tokens;
    const rules = { SCHEMATHESIS_HOOKS: join(journeys, 'schemathesis_rules.py'), PYTHONDONTWRITEBYTECODE: '1' };
    const recorded = { COUNTERSIGN_RECORDED: JSON.stringify(await recordCalls(server)) };
    const env = { AGENT_TOKEN: agent, PERSON_TOKEN: me, WORKER_TOKEN: worker, ...rules, ...recorded };
    const chosen = ['--phases', 'examples,coverage,fuzzing'];
    const config = ['--config-file', join(journeys, 'schemathesis.toml')];
    const url = ['--url', `http://127.0.0.1:${String(server.port)}`];
    const often = ['--max-examples', '20', '--seed', '1', '--continue-on-failure'];
    const args = [...config, 'run', document, ...url, ...chosen, ...often];
    // It ends with an error for each finding.
    expect(await run(temporaryFolder(), env, join(dirname(python), 'schemathesis'), ...args)).toContain('Seed: 1');
  });

  it('give a name to nearly every model of the messages', async () => {
    const packages = await npmFolder();
    cpSync(join(journeys, 'models.mjs'), join(packages, 'models.mjs'));
    const printed = await run(packages, {}, process.execPath, 'models.mjs', join(root, 'docs', 'asyncapi.json'));
    const { models, anonymous } = JSON.parse(printed) as { models: number; anonymous: readonly string[] };
    expect(models).toBeGreaterThan(50);
    expect([...anonymous].slice(0, Math.ceil(models * 0.05) + 1).length).toBeLessThanOrEqual(models * 0.05);
  });
});
