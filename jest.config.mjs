const swc = {
  jsc: {
    target: 'es2024',
    parser: { syntax: 'typescript', decorators: true },
    transform: { legacyDecorator: true, decoratorMetadata: true, verbatimModuleSyntax: true },
  },
  module: { type: 'es6' },
  sourceMaps: 'inline',
  swcrc: false,
};

const tsx = {
  ...swc,
  jsc: {
    ...swc.jsc,
    parser: { syntax: 'typescript', tsx: true },
    transform: { react: { runtime: 'automatic' }, verbatimModuleSyntax: true },
  },
};

export const fromSource = {
  '^@countersign/([^/]+)$': [
    '<rootDir>/libs/$1/src/index.ts',
    '<rootDir>/apps/$1/src/index.ts',
    '<rootDir>/integrations/$1/src/index.ts',
  ],
  '^@countersign/([^/]+)/eventstoredb$': '<rootDir>/libs/$1/src/eventstoredb/index.ts',
  '^@countersign/([^/]+)/kafka$': '<rootDir>/libs/$1/src/kafka/index.ts',
  '^@countersign/([^/]+)/parts$': '<rootDir>/libs/$1/src/parts/index.ts',
  '^@countersign/([^/]+)/testing$': ['<rootDir>/libs/$1/src/testing.ts', '<rootDir>/apps/$1/src/testing.ts'],
};

/** Specs of the nightly form. CI runs the others each time. */
const isNightly = process.env.COUNTERSIGN_TEST_NIGHTLY === '1';
export const specsIn = (folders) =>
  ['!(*.timing|*.nightly)', ...(isNightly ? ['*.nightly'] : [])].map(
    (name) => `<rootDir>/${folders}/**/${name}.spec.ts`,
  );

export const project = (displayName, testMatch, moduleNameMapper = {}) => ({
  displayName,
  rootDir: import.meta.dirname,
  testEnvironment: '<rootDir>/test/node-environment.mjs',
  testMatch,
  extensionsToTreatAsEsm: ['.ts', '.tsx'],
  transform: { '\\.ts$': ['@swc/jest', swc], '\\.tsx$': ['@swc/jest', tsx] },
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^fast-check$': '<rootDir>/test/fast-check.mjs',
    ...moduleNameMapper,
  },
  // `.js` first: a relative import inside a dependency must find what that dependency published.
  moduleFileExtensions: ['js', 'mjs', 'cjs', 'ts', 'tsx', 'json', 'node'],
  modulePathIgnorePatterns: ['<rootDir>/(libs|apps|integrations)/[^/]+/dist/', '<rootDir>/.cache/'],
  restoreMocks: true,
});

/** Finds or starts the one broker of the run. A spec that kills or pauses a broker starts its own. */
export const withBroker = {
  globalSetup: '<rootDir>/test/kafka-broker/suite-start.mjs',
  globalTeardown: '<rootDir>/test/kafka-broker/suite-stop.mjs',
};

/** What these specs load is not instrumented: that would slow them, and the thresholds are those of the other specs. */
export const withoutCoverage = { coveragePathIgnorePatterns: ['.'] };

/** These run what was built, as users do: no source is mapped. */
export const built = { modulePathIgnorePatterns: [] };

const thresholds = {
  './libs/text/src/': { lines: 95 },
  './libs/domain/src/': { lines: 95 },
  './libs/policy/src/': { lines: 95 },
  './libs/event-store/src/': { lines: 95 },
};

const withThreshold = 'libs/{text,domain,policy,event-store}';

/** Specs elsewhere that reach what no spec beside these libraries does. */
const alsoMeasured = [
  'apps/cli/src/sqlite/audit-cut',
  'apps/cli/src/view/event-words',
  'apps/gateway/src/http/{passkeys,sparse-log}',
  'apps/notary/src/timestamps/timestamps',
  'apps/notifier/src/places',
  'apps/standalone/src/*',
  'libs/channels/src/card/card',
  'libs/react/src/text/*',
  'test/unit/cli/store',
  'test/unit/policy-words',
  'test/unit/eventstoredb/!(*.nightly)',
].map((name) => `<rootDir>/${name}.spec.ts`);

/**
 * Where lines are counted. Counting costs a seventh of what a spec takes, so CI counts what has a threshold of its own, and only in the
 * specs beside it and a few others. The nightly form and `npm run test:coverage` count everything.
 */
const isNarrow = Boolean(process.env.CI) && !isNightly;
const [measured, globally] = isNarrow ? [withThreshold, {}] : ['{libs,apps}/*', { global: { lines: 85 } }];
const inNarrow = isNarrow ? withoutCoverage : {};

const unit = specsIn('{libs/*/src,apps/*/src,test/unit}');
const measuredUnit = [...specsIn(`${withThreshold}/src`), ...alsoMeasured];
/** Jest knows no `<rootDir>` behind a `!`. */
const except = (patterns) => patterns.map((pattern) => pattern.replace('<rootDir>', '!**'));
const units = isNarrow
  ? [
      project('unit', measuredUnit, fromSource),
      { ...project('unit', [...unit, ...except(measuredUnit)], fromSource), ...withoutCoverage },
    ]
  : [project('unit', unit, fromSource)];

/** Everything but the integrations, which have a configuration of their own (integrations/jest.config.mjs). */
export default {
  projects: [
    ...units,
    { ...project('architecture', specsIn('test/architecture'), fromSource), ...inNarrow },
    { ...project('sim', specsIn('test/{simulation,consent}'), fromSource), ...withoutCoverage },
    { ...project('kafka', specsIn('test/kafka'), fromSource), ...withBroker, ...withoutCoverage },
    { ...project('process', specsIn('test/process')), ...built, ...withBroker, ...withoutCoverage },
    { ...project('browser', specsIn('test/browser')), ...built, ...withoutCoverage },
    // These assert durations, so each of them has the machine to itself.
    { ...project('timing', ['<rootDir>/test/process/**/*.timing.spec.ts']), ...built, ...withoutCoverage },
  ],
  // In a full heap every collection is slow. The environment keeps it smaller (test/node-environment.mjs); this is for what that cannot free.
  workerIdleMemoryLimit: '900MB',
  testSequencer: '<rootDir>/test/longest-first.mjs',
  reporters: ['default', '<rootDir>/test/totals-reporter.mjs'],
  coverageProvider: 'babel',
  coverageDirectory: 'coverage',
  coverageReporters: ['text-summary', 'lcov'],
  collectCoverageFrom: [
    `${measured}/src/**/*.ts`,
    '!**/*.spec.ts',
    '!**/*.contract.ts',
    '!**/testing.ts',
    '!**/main.ts',
    // What runs in a browser, and against a real broker, is run by suites of its own.
    '!apps/inbox/**',
    '!libs/*/src/kafka/**',
  ],
  coverageThreshold: { ...globally, ...thresholds },
  // A test that asserts no duration has no limit that a busy machine could reach.
  testTimeout: 180_000,
};
