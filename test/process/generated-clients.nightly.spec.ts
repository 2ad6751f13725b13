import { join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { environmentOf, printed } from '../clients/environment.ts';
import { generateClients } from '../clients/generated.ts';
import { runGo, runJava, runPhp, runPython } from '../clients/journeys.ts';
import { has } from '../clients/tools.ts';
import { hasPython } from '../python-environment.ts';
import { cleanUpAfterAll } from './harness/cleanup.js';
import { install, type Installation } from './harness/standalone.js';

jest.setTimeout(900_000);

const hasGenerator = has('java', '-version') && has('mvn', '-v');
const hasPhp = has('php', '-r', 'exit(is_file("/usr/share/php/GuzzleHttp/autoload.php") ? 0 : 1);');

let server: Installation;
let generated: string;
beforeAll(async () => {
  server = await install();
  if (hasGenerator) generated = await generateClients();
});
cleanUpAfterAll();

/** A test with what it needs installed; without, one that says what is not tried. */
const itWith = (isThere: boolean, name: string, journey: () => Promise<string>): void => {
  if (hasGenerator && isThere)
    it(name, async () => {
      expect(JSON.parse(await journey())).toEqual(printed);
    });
  else it(`${name}: not tried, because something it needs is not installed here`, () => undefined);
};

describe('one approval and one grant with a client that openapi-generator made from the OpenAPI document', () => {
  itWith(hasPython, 'Python', () => runPython(join(generated, 'python'), environmentOf(server, 'python')));

  itWith(has('go', 'version'), 'Go', () => runGo(join(generated, 'go'), environmentOf(server, 'go')));

  itWith(hasPhp, 'PHP', () => runPhp(join(generated, 'php'), environmentOf(server, 'php')));

  itWith(has('javac', '-version'), 'Java, with its own HTTP client', () =>
    runJava(join(generated, 'java-native'), 'Journey', environmentOf(server, 'native')),
  );

  itWith(has('javac', '-version'), 'Java, with OkHttp and Gson, the default', () =>
    runJava(join(generated, 'java-okhttp'), 'JourneyOkHttp', environmentOf(server, 'okhttp')),
  );
});
