// The rules about what a file says that oxlint does not have: those of the floors. All others are in .oxlintrc.json.
import tseslint from 'typescript-eslint';
import { configWith } from './architecture/lint.mjs';

export default [
  { ignores: ['**/dist/', 'apps/cli/bundle/', '**/node_modules/', '.cache/', 'test/architecture/house/'] },
  ...configWith(tseslint),
];
