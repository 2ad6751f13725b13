import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { recordCalls } from '../clients/recorded.ts';
import { generatorJar, has, npmFolder, run } from '../clients/tools.ts';
import { hasPython, installPython } from '../python-environment.ts';
import { cleanUpAfterAll, temporaryFolder } from './harness/cleanup.js';
import { install, type Installation } from './harness/standalone.js';

jest.setTimeout(600_000);

const root = join(import.meta.dirname, '..', '..');
const document = join(root, 'docs', 'openapi.json');
const journeys = join(root, 'test', 'clients');
const hasGenerator = has('java', '-version') && has('mvn', '-v');
const hasPhp = has('php', '-r', 'exit(is_file("/usr/share/php/GuzzleHttp/autoload.php") ? 0 : 1);');

let server: Installation;
beforeAll(async () => {
  server = await install();
});
cleanUpAfterAll();

/** What a journey reads: the server, the tokens, and a run of its own. */
const environmentOf = (runId: string): Readonly<Record<string, string>> => ({
  COUNTERSIGN_URL: `http://127.0.0.1:${String(server.port)}`,
  AGENT_TOKEN: server.tokens.agent,
  PERSON_TOKEN: server.tokens.me,
  WORKER_TOKEN: server.tokens.worker,
  RUN_ID: runId,
});

/** A test with what it needs installed; without, one that says what is not tried. */
const itWith = (isThere: boolean, name: string, test: () => Promise<void>): void => {
  if (isThere) it(name, test);
  else it(`${name}: not tried, because something it needs is not installed here`, () => undefined);
};

/** Generates a client from the document alone, and returns its folder. */
async function generated(generator: string, ...options: readonly string[]): Promise<string> {
  const folder = temporaryFolder();
  const args = ['-jar', await generatorJar(), 'generate', '-g', generator, '-i', document, '-o', folder, ...options];
  await run(root, {}, 'java', ...args);
  return folder;
}

/** Runs a journey with a client for Java. */
async function runJava(library: string, journey: string): Promise<string> {
  const folder = await generated(
    'java',
    `--library=${library}`,
    '--additional-properties=useSingleRequestParameter=true',
  );
  rmSync(join(folder, 'src', 'test'), { recursive: true, force: true });
  cpSync(join(journeys, `${journey}.java`), join(folder, 'src', 'main', 'java', `${journey}.java`));
  await run(folder, {}, 'mvn', '-B', '-q', 'compile', 'dependency:build-classpath', '-Dmdep.outputFile=classpath');
  const classpath = `target/classes:${readFileSync(join(folder, 'classpath'), 'utf8').trim()}`;
  return run(folder, environmentOf(library), 'java', '-cp', classpath, journey);
}

function operationIds(): readonly string[] {
  const { paths } = JSON.parse(readFileSync(document, 'utf8')) as {
    paths: Record<string, Record<string, { operationId: string }>>;
  };
  return Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId));
}

/** The module that the client for Python has for an operation. */
const moduleOf = (id: string): string => id.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

function expectApproved(printed: string): void {
  expect(JSON.parse(printed)).toEqual({ state: 'approved', problem: 'already-resolved' });
}

describe('one approval with a client that was generated from the OpenAPI document', () => {
  itWith(hasGenerator && hasPython, 'openapi-generator for Python', async () => {
    const [folder, python] = [
      await generated('python'),
      await installPython('clients', 'test/clients/requirements.txt'),
    ];
    const env = { ...environmentOf('python'), PYTHONPATH: folder };
    expectApproved(await run(root, env, python, join(journeys, 'journey_generator.py')));
  });

  itWith(hasPython, 'openapi-python-client', async () => {
    const [folder, python] = [temporaryFolder(), await installPython('clients', 'test/clients/requirements.txt')];
    const client = join(folder, 'client');
    const generator = join(dirname(python), 'openapi-python-client');
    await run(folder, {}, generator, 'generate', '--path', document, '--output-path', client);
    const files = readdirSync(join(client, 'countersign_client', 'api'), { recursive: true, encoding: 'utf8' });
    const isThere = (id: string): boolean => files.some((file) => file.endsWith(`/${moduleOf(id)}.py`));
    expect(operationIds().filter((id) => !isThere(id))).toEqual([]);
    const env = { ...environmentOf('python-client'), PYTHONPATH: client };
    expectApproved(await run(root, env, python, join(journeys, 'journey_client.py')));
  });

  itWith(hasGenerator && has('go', 'version'), 'openapi-generator for Go', async () => {
    const client = await generated('go');
    rmSync(join(client, 'test'), { recursive: true, force: true });
    const module = readFileSync(join(client, 'go.mod'), 'utf8');
    writeFileSync(join(client, 'go.mod'), module.replace(/^module .*/, 'module countersign.example/client'));
    const program = join(client, 'journey');
    mkdirSync(program);
    cpSync(join(journeys, 'journey.go'), join(program, 'main.go'));
    const env = { ...environmentOf('go'), GOFLAGS: '-mod=mod -buildvcs=false', GOTOOLCHAIN: 'local' };
    expectApproved(await run(client, env, 'go', 'run', './journey'));
  });

  itWith(hasGenerator, 'openapi-generator for Java, with the HTTP client of Java', async () => {
    expectApproved(await runJava('native', 'Journey'));
  });

  itWith(hasGenerator, 'openapi-generator for Java, with OkHttp and Gson, its default', async () => {
    expectApproved(await runJava('okhttp-gson', 'JourneyOkHttp'));
  });

  itWith(hasGenerator && hasPhp, 'openapi-generator for PHP', async () => {
    const env = { ...environmentOf('php'), CLIENT: await generated('php') };
    expectApproved(await run(root, env, 'php', join(journeys, 'journey.php')));
  });

  it('@hey-api/openapi-ts', async () => {
    const [packages, folder] = [await npmFolder(), temporaryFolder()];
    cpSync(join(journeys, 'journey.mts'), join(folder, 'journey.mts'));
    const bin = (name: string): string => join(packages, 'node_modules', '.bin', name);
    await run(
      packages,
      {},
      bin('openapi-ts'),
      '-i',
      document,
      '-o',
      join(folder, 'client'),
      '-c',
      '@hey-api/client-fetch',
    );
    expectApproved(await run(folder, environmentOf('hey-api'), bin('tsx'), 'journey.mts'));
  });
});

describe('the documents, as other tools read them', () => {
  itWith(hasPython, 'schemathesis finds no answer that the OpenAPI document does not describe', async () => {
    const python = await installPython('clients', 'test/clients/requirements.txt');
    const { agent, me, worker } = server.tokens;
    const rules = { SCHEMATHESIS_HOOKS: join(journeys, 'schemathesis_rules.py'), PYTHONDONTWRITEBYTECODE: '1' };
    const recorded = { COUNTERSIGN_RECORDED: JSON.stringify(await recordCalls(server)) };
    const env = { AGENT_TOKEN: agent, PERSON_TOKEN: me, WORKER_TOKEN: worker, ...rules, ...recorded };
    // A stream of events has no end.
    const chosen = ['--exclude-operation-id', 'streamEvents', '--phases', 'examples,coverage,fuzzing'];
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
