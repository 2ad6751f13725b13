import js from '@eslint/js';
import tseslint from 'typescript-eslint';
import { floorsLint } from './architecture/lint.mjs';

const tests = [
  '**/*.spec.ts',
  '**/*.contract.ts',
  '**/src/testing.ts',
  '**/src/testing/**/*.ts',
  '{,integrations/}test/**/*.ts',
];

export default tseslint.config(
  {
    ignores: [
      '**/dist/',
      '**/bundle/',
      '**/node_modules/',
      'coverage/',
      '.cache/',
      'data/',
      'test/architecture/house/',
      // Generated; the compiler checks it.
      'libs/api-client/src/api.ts',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.{js,mjs,cjs}'],
    languageOptions: {
      globals: Object.fromEntries(
        ['Buffer', 'URL', 'clearInterval', 'console', 'fetch', 'process', 'setInterval', 'setTimeout'].map((name) => [
          name,
          'readonly',
        ]),
      ),
    },
  },
  {
    files: ['**/*.ts', '**/*.tsx'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      // The inbox runs in browsers: another program, with the DOM in place of Node.
      parserOptions: {
        project: ['tsconfig.check.json', 'apps/inbox/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/explicit-module-boundary-types': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/no-extraneous-class': ['error', { allowWithDecorator: true }],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-unused-vars': [
        'error',
        { argsIgnorePattern: '^_', varsIgnorePattern: '^_', ignoreRestSiblings: true },
      ],
      // An adapter whose work is synchronous still fulfils an asynchronous port.
      '@typescript-eslint/require-await': 'off',
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': ['error', { considerDefaultExhaustiveForUnions: true }],
      eqeqeq: 'error',
      'no-console': 'error',
      // The `modified` count takes a whole switch as one: an exhaustive switch is not what is hard to read.
      complexity: ['error', { max: 10, variant: 'modified' }],
      'max-lines': ['error', { max: 300, skipBlankLines: true, skipComments: true }],
      // Counts what is nested: a `createX(ports)` is as long as all its closures.
      'max-lines-per-function': ['error', { max: 100, skipBlankLines: true, skipComments: true }],
    },
  },
  {
    files: tests,
    rules: {
      '@typescript-eslint/explicit-module-boundary-types': 'off',
      '@typescript-eslint/no-confusing-void-expression': 'off',
      '@typescript-eslint/no-meaningless-void-operator': 'off',
      '@typescript-eslint/no-non-null-assertion': 'off',
      '@typescript-eslint/unbound-method': 'off',
      complexity: 'off',
      'max-lines': 'off',
      'max-lines-per-function': 'off',
    },
  },
  {
    files: [
      'apps/cli/**/*.ts',
      'bench/**/*.ts',
      '{,integrations/}examples/**/*.ts',
      'libs/*/examples/**/*.ts',
      'integrations/{,adapters/}*/{examples,conformance}/**/*.ts',
      // Its log is the console by default: no one else would tell the program.
      'integrations/adapters/langchain/src/failures.ts',
    ],
    rules: { 'no-console': 'off' },
  },
  ...floorsLint,
);
