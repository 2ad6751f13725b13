import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { environmentOf, printed } from '../clients/environment.ts';
import { runPythonClient, runTypeScript } from '../clients/journeys.ts';
import { hasPython } from '../python-environment.ts';
import { cleanUpAfterAll, temporaryFolder } from './harness/cleanup.js';
import { install, type Installation } from './harness/standalone.js';

jest.setTimeout(900_000);

let server: Installation;
beforeAll(async () => {
  server = await install();
});
cleanUpAfterAll();

// Those of openapi-generator, which take minutes of processor time, are in generated-clients.nightly.spec.ts.
describe('one approval and one grant with a client that was generated from the OpenAPI document', () => {
  (hasPython ? it : it.skip)('openapi-python-client', async () => {
    const env = environmentOf(server, 'python-client');
    expect(JSON.parse(await runPythonClient(temporaryFolder(), env))).toEqual(printed);
  });

  it('@hey-api/openapi-ts', async () => {
    expect(JSON.parse(await runTypeScript(temporaryFolder(), environmentOf(server, 'hey-api')))).toEqual(printed);
  });
});
