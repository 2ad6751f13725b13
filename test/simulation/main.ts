// `npm run sim`: many seeded worlds, one after the other. `SEED=` replays one, `SEEDS=` sets the number.
import { registerHooks } from 'node:module';

// The simulated adapters share an entry point with contract suites, which report to jest; here their reports are
// ignored.
registerHooks({
  resolve: (specifier, context, next) =>
    specifier === '@jest/globals'
      ? { url: new URL('./world/no-jest.ts', import.meta.url).href, shortCircuit: true }
      : next(specifier, context),
});
const { runCommand } = await import('./command.ts');
process.exitCode = await runCommand(process.argv.slice(2), process.env);
