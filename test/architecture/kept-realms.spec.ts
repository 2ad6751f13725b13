import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

/** What a worker does for each spec, with the parts that all its specs share. Prints how many of the realms are still there. */
const program = `
  import { AsyncLocalStorage } from 'node:async_hooks';
  import vm from 'node:vm';
  import { Registry, collectDefaultMetrics } from 'prom-client';
  import { cacheCompiledCode } from './code-cache.mjs';
  import { sharePackages } from './shared-packages.mjs';

  cacheCompiledCode();
  sharePackages();
  const runSpec = async (number) => {
    const context = vm.createContext({});
    const source = 'export const number = ' + number;
    const loaded = new vm.SourceTextModule(source, { context, identifier: 'module-' + number });
    await loaded.link(() => undefined);
    await loaded.evaluate();
    vm.compileFunction(source.slice(7), [], { parsingContext: context, filename: 'function-' + number });
    new AsyncLocalStorage().run(context, () => collectDefaultMetrics({ register: new Registry() }));
    return new WeakRef(vm.runInContext('globalThis', context));
  };
  const realms = [];
  for (let number = 1; number <= 5; number += 1) realms.push(await runSpec(number));
  await new Promise(setImmediate);
  gc({ type: 'major', execution: 'sync', flavor: 'last-resort' });
  console.log(realms.filter((realm) => realm.deref() !== undefined).length);
  process.exit();`;

it('nothing that the specs of a worker share keeps a spec that has ended', () => {
  const args = ['--expose-gc', '--experimental-vm-modules', '--input-type=module', '--eval', program];
  const cwd = join(import.meta.dirname, '..');
  const printed = execFileSync(process.execPath, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  expect(Number(printed)).toBe(0);
});
