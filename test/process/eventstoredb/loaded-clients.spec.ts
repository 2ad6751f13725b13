import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';

cleanUpAfterEach();

const root = join(import.meta.dirname, '..', '..', '..');
/** Prints which vendors' clients the process has loaded when it ends. */
const tellLoaded = `data:text/javascript,${encodeURIComponent(`
  import { registerHooks } from 'node:module';
  const loaded = new Set();
  registerHooks({
    resolve(specifier, context, next) {
      const found = next(specifier, context);
      const name = /node_modules.(@eventstore.db-client|@kurrent.kurrentdb-client)/.exec(found.url)?.[1];
      if (name !== undefined) loaded.add(name);
      return found;
    },
  });
  process.on('exit', () => process.stdout.write('LOADED ' + JSON.stringify([...loaded]) + '\\n'));
`)}`;

const entrance = pathToFileURL(join(root, 'libs', 'event-store', 'dist', 'eventstoredb', 'index.js')).href;

async function run(code: string, ...preloads: readonly string[]): Promise<string> {
  const imports = [...preloads, tellLoaded].flatMap((preload) => ['--import', preload]);
  const program = `const { connectOf } = await import(${JSON.stringify(entrance)}); ${code}`;
  const { stdout } = await promisify(execFile)(process.execPath, [...imports, '--input-type=module', '-e', program]);
  return stdout;
}

it.each([
  ['', []],
  ['await connectOf("esdb://u:secret@h");', ['@eventstore/db-client']],
  ['await connectOf("kurrentdb+discover://u:secret@h");', ['@kurrent/kurrentdb-client']],
])('a process loads only the client that it uses: %s', async (code, loaded) => {
  expect(await run(code)).toBe(`LOADED ${JSON.stringify(loaded)}\n`);
});

it.each([
  ['esdb', 'kurrentdb', '@eventstore/db-client'],
  ['kurrentdb', 'esdb', '@kurrent/kurrentdb-client'],
])('a process that uses %s:// refuses %s://', async (one, other, loaded) => {
  const code = `await connectOf('${one}://h'); await connectOf('${other}://u:secret@h').catch((e) => console.log(e.message));`;
  expect(await run(code)).toBe(
    `a process can use one client of the event store: ${one}:// is in use here\nLOADED ["${loaded}"]\n`,
  );
});

it.each(['@kurrent/kurrentdb-client', '@kurrent/bridge-'])(
  'names the remedy when %s is not installed',
  async (name) => {
    const absent = `data:text/javascript,${encodeURIComponent(`
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve(specifier, context, next) {
        if (!specifier.startsWith('${name}')) return next(specifier, context);
        throw Object.assign(new Error('Cannot find ' + specifier), { code: 'MODULE_NOT_FOUND' });
      },
    });
  `)}`;
    const said = await run(`await connectOf('kurrentdb://u:secret@h').catch((e) => console.log(e.message));`, absent);
    expect(said).toContain('needs the optional package @kurrent/kurrentdb-client');
    expect(said).not.toContain('secret');
  },
);

it('does not repeat the password of a connection string with another scheme', async () => {
  const said = await run(`await connectOf('http://u:secret@h').catch((e) => console.log(e.message));`);
  expect(said).toMatch(/must begin with esdb:\/\/, .*\nLOADED \[\]/);
  expect(said).not.toContain('secret');
});

it('the standalone server loads neither client', async () => {
  const { server } = await install({ NODE_OPTIONS: `--import ${tellLoaded}` });
  await server().stop();
  expect(server().output()).toContain('LOADED []');
});
