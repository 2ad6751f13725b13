// The part of the floors that is about what a file says, not what it imports. No type information needed.
import { appFactories, floors } from './floors.mjs';

const pure = floors.filter((floor) => floor.pure);
const edges = pure.filter((floor) => floor.edge).map(({ unit, edge }) => `${unit}/src/**/${edge}`);
const tests = ['**/*.spec.ts', '**/*.contract.ts', '**/src/testing.ts', '**/src/testing/**'];
const apps = floors
  .filter(({ unit }) => unit.startsWith('apps/') && unit !== 'apps/shell')
  .map(({ unit }) => `@countersign/${unit.split('/')[1]}`);
const importers = ['standalone', 'cluster', 'cli']
  .map((app) => `apps/${app}/**/*.ts`)
  .concat('{,integrations/}test/**/*.ts', 'bench/**/*.ts');

const say = (message, ...selectors) => selectors.map((selector) => ({ selector, message }));

const inputs = [
  ...say(
    'The time is an input: pure code reads no clock.',
    'NewExpression[callee.name="Date"][arguments.length=0]',
    'CallExpression[callee.name="Date"]',
    'CallExpression[callee.object.name="Date"][callee.property.name="now"]',
  ),
  ...say('Chance is an input.', 'MemberExpression[object.name="Math"][property.name="random"]'),
  ...say('Pure code waits for nothing.', ':function[async=true]', 'AwaitExpression'),
];
const outcomes = [
  ...say('A "no" is a returned value with a code; a broken invariant calls assert (assert.ts).', 'ThrowStatement'),
  ...say('Functions over data.', 'ClassDeclaration'),
];

export const floorsLint = [
  {
    name: 'floors/pure',
    files: pure.map(({ unit }) => `${unit}/src/**/*.ts`),
    ignores: [...tests, '**/assert.ts'],
    rules: {
      'no-restricted-globals': [
        'error',
        ...['process', 'fetch', 'setTimeout', 'setInterval', 'setImmediate', 'crypto', 'performance', 'console'].map(
          (name) => ({ name, message: 'Pure code gets this as an input.' }),
        ),
      ],
      'no-restricted-syntax': ['error', ...inputs, ...outcomes],
    },
  },
  {
    name: 'floors/store-wrappers',
    files: ['apps/*/src/**/*.ts', 'libs/event-store/src/**/*.ts'],
    ignores: [...tests, ...pure.map(({ unit }) => `${unit}/src/**`)],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...say(
          'Other reads pass around this wrapper: name every way in which events leave a store (storeOver).',
          'ObjectExpression:has(> SpreadElement):has(> Property[key.name=/^(readStream|readAll)$/])',
        ),
      ],
    },
  },
  { name: 'floors/edge', files: edges, ignores: tests, rules: { 'no-restricted-syntax': ['error', ...inputs] } },
  {
    name: 'floors/app-factories',
    files: importers,
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          patterns: [
            {
              group: apps,
              allowImportNamePattern: appFactories,
              allowTypeImports: true,
              message: 'Of another app only its create… functions are for use.',
            },
          ],
        },
      ],
    },
  },
];

/** The configuration of ESLint, with the parser and the plugin of typescript-eslint. */
export const configWith = ({ parser, plugin }) => [
  {
    files: floorsLint.flatMap(({ files }) => files),
    languageOptions: { parser },
    plugins: { '@typescript-eslint': plugin },
  },
  // Their only rule is about imports of apps. One file in ten names an app, and the text of the others need not be parsed.
  {
    files: importers,
    languageOptions: {
      parser: {
        meta: parser.meta,
        parseForESLint: (text, options) =>
          parser.parseForESLint(apps.some((name) => text.includes(name)) ? text : '', options),
      },
    },
  },
  ...floorsLint,
];
