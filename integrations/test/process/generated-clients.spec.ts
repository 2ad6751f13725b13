import { join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { environmentOf, printed } from '../../../test/clients/environment.js';
import { generateClients } from '../../../test/clients/generated.js';
import { runGo, runJava, runPhp, runPython, runPythonClient, runTypeScript } from '../../../test/clients/journeys.js';
import { missing } from '../../../test/clients/tools.js';
import type { Tool } from '../../../test/clients/tools.js';
import { cleanUpAfterAll, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../test/process/harness/standalone.js';

jest.setTimeout(900_000);

let server: Installation;
beforeAll(async () => {
  server = await install();
});
cleanUpAfterAll();

/** A test of a client, or a skipped one whose name says what is missing here. In CI nothing may be missing. */
function itWith(tools: readonly Tool[], name: string, runId: string, journey: (env: Environment) => Promise<string>) {
  const without = missing(tools);
  if (without.length > 0) it.skip(`${name}: not tried without ${without.join(', ')}`, () => undefined);
  else
    it(name, async () => {
      expect(JSON.parse(await journey(environmentOf(server, runId)))).toEqual(printed);
    });
}

type Environment = ReturnType<typeof environmentOf>;

describe('one approval and one grant with a client that was generated from the OpenAPI document', () => {
  itWith(['Python'], 'openapi-python-client', 'python-client', (env) => runPythonClient(temporaryFolder(), env));

  itWith([], '@hey-api/openapi-ts', 'hey-api', (env) => runTypeScript(temporaryFolder(), env));
});

describe('one approval and one grant with a client that openapi-generator made from the OpenAPI document', () => {
  /** Makes all clients before the first journey, and runs one with the client of this name. */
  const withClient =
    (name: string, journey: (client: string, env: Environment) => Promise<string>) => async (env: Environment) =>
      journey(join(await generateClients(), name), env);
  const generator = ['a JDK', 'Maven'] as const;

  itWith([...generator, 'Python'], 'Python', 'python', withClient('python', runPython));

  itWith([...generator, 'Go'], 'Go', 'go', withClient('go', runGo));

  itWith([...generator, 'PHP with Guzzle'], 'PHP', 'php', withClient('php', runPhp));

  itWith(generator, 'Java, with its own HTTP client', 'native', withClient('java-native', runJava('Journey')));

  itWith(
    generator,
    'Java, with OkHttp and Gson, the default',
    'okhttp',
    withClient('java-okhttp', runJava('JourneyOkHttp')),
  );
});
