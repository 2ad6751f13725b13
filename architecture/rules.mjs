// Turns the table of floors into dependency-cruiser's rules. Paths are relative to the folder that is cruised.
import { floors, forSpecs, testFiles } from './floors.mjs';

const nameOf = (unit) => unit.split('/').slice(1).join('-');
const escape = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');
const either = (names) => `(${names.map(escape).join('|')})`;
/** A package as it resolves, and as it is written where it is not installed. */
const npmPath = (names) => `(^|/)node_modules/${either(names)}/|^${either(names)}(/|$)`;
const corePath = (names) => `^(node:)?${either(names)}(/|$)`;
const npmTypes = ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-bundled', 'npm-no-pkg', 'npm-unknown', 'unknown'];
const anyOfOurs = '^(libs|apps|integrations)/';
/** Our packages. The tests and examples of the integrations are not among them. */
const packages = '^(?:libs|apps|integrations(?!/(?:test|examples)/))/';
const anyExample = '^(?:integrations/)?examples/';

const vendors = [...new Set(floors.flatMap(({ adapters = {} }) => Object.values(adapters).flat()))];
const bare = (vendor) => vendor.replace(/^node:/, '');

function ourPaths(ours) {
  if (ours === 'libs') return ['^libs/'];
  if (ours === 'libs and shell') return ['^libs/', '^apps/shell/'];
  return ours.map((name) => `^(?:libs|integrations)/${name.replace('types:', '')}/`);
}

function rulesOf({ unit, ours, npm, node, adapters = {} }) {
  const name = nameOf(unit);
  const production = { path: `^${unit}/src/`, pathNot: testFiles };
  const rules = [];
  if (ours !== 'everything') {
    rules.push({
      name: `${name}-imports-ours`,
      comment: `${unit} may import of ours: ${Array.isArray(ours) ? ours.join(', ') || 'nothing' : ours}.`,
      from: { path: `^${unit}/` },
      to: { path: anyOfOurs, pathNot: [`^${unit}/`, ...ourPaths(ours)] },
    });
  }
  const typesOnly = Array.isArray(ours) ? ours.filter((one) => one.startsWith('types:')) : [];
  if (typesOnly.length > 0) {
    rules.push({
      name: `${name}-imports-types-only`,
      comment: `${unit} is pure: it may know the shapes of ${typesOnly.join(', ')}, and call nothing there.`,
      from: production,
      to: { path: ourPaths(typesOnly), dependencyTypesNot: ['type-only'] },
    });
  }
  const inAdapters = Object.values(adapters).flat();
  if (Array.isArray(npm)) {
    const allowed = [...npm, ...inAdapters.filter((one) => !one.startsWith('node:'))];
    const forTests = [...allowed, ...forSpecs.npm];
    const comment = `${unit} may use of others: ${allowed.join(', ') || 'nothing'}. Give it the value instead, or move the code up.`;
    rules.push(
      {
        name: `${name}-imports-npm`,
        comment,
        from: production,
        to: { dependencyTypes: npmTypes, ...(allowed.length > 0 ? { pathNot: npmPath(allowed) } : {}) },
      },
      {
        name: `${name}-specs-import-npm`,
        comment: `${comment} Its specs also: ${forSpecs.npm.join(', ')}.`,
        from: { path: testFiles.split('|').map((ending) => `^${unit}/.*(${ending})`) },
        to: { dependencyTypes: npmTypes, pathNot: npmPath(forTests) },
      },
    );
  }
  if (node !== 'any') {
    const allowed = [...node, ...inAdapters.filter((one) => one.startsWith('node:')).map(bare)];
    rules.push({
      name: `${name}-imports-node`,
      comment: `${unit} may use of Node: ${allowed.join(', ') || 'nothing'}.`,
      from: production,
      to: { dependencyTypes: ['core'], ...(allowed.length > 0 ? { pathNot: corePath(allowed) } : {}) },
    });
  }
  return rules;
}

function vendorRules() {
  return vendors.map((vendor) => {
    // A receiver of webhooks or events, or a bot, is a customer's program: it shows what a customer uses.
    const receiver =
      '^examples/(?:webhook-receiver\\.mjs|notifier/consumer\\.mjs|notifier/nest/consumer\\.ts|telegram-bot\\.ts)$';
    const homes = floors.flatMap(({ unit, adapters = {} }) =>
      Object.entries(adapters)
        .filter(([, clients]) => clients.includes(vendor))
        .map(([folder]) => `^${unit}/src/${folder}/`),
    );
    return {
      name: `vendor-${bare(vendor).replace(/^@/, '').replace('/', '-')}`,
      comment: `${vendor} is used in its adapter's folder alone; elsewhere use the port.`,
      // An example may use the modules of Node, as any program may.
      from: {
        path: vendor.startsWith('node:') ? [packages] : [packages, anyExample],
        pathNot: [...homes, receiver],
      },
      to: { path: vendor.startsWith('node:') ? corePath([bare(vendor)]) : npmPath([vendor]) },
    };
  });
}

const entrances = [
  '/src/index\\.ts$',
  ...floors.flatMap(({ unit, entrances: folders = [] }) =>
    folders.map((folder) => `^${unit}/src/${folder}/index\\.ts$`),
  ),
];
/** An import of a package's index must not load the clients behind its other entrances. */
const apart = floors.flatMap(({ unit, adapters = {}, entrances: folders = [] }) =>
  // The folders that are adapters.
  folders
    .filter((folder) => folder in adapters)
    .map((folder) => ({
      name: `${nameOf(unit)}-index-without-${folder}`,
      comment: `${unit} gives ${folder} by an entrance of its own, so that its client is loaded only where it is used.`,
      from: { path: `^${unit}/src/index\\.ts$` },
      to: { path: npmPath(adapters[folder]), reachable: true },
    })),
);
/** A bundle needs no installed packages when it runs. */
const bundled = floors.filter((floor) => floor.bundled).map(({ unit }) => `^${unit}/`);
const insideOfAPackage = '^(libs|apps|integrations)/(?:adapters/)?[^/]+/(src|dist|bin)/';

const generalRules = [
  {
    name: 'no-cycles',
    comment: 'Two files that need each other are one thing, or there is a third thing in between.',
    from: {},
    to: { circular: true },
  },
  {
    name: 'no-unresolvable',
    comment: 'It does not exist, or is not installed.',
    from: {},
    to: { couldNotResolve: true },
  },
  {
    name: 'no-undeclared-package',
    comment: "Declare it in the package's own package.json.",
    from: { path: packages },
    to: { dependencyTypes: ['npm-no-pkg', 'npm-unknown'] },
  },
  {
    name: 'no-development-package',
    comment: 'A devDependency is not there in production.',
    from: { path: packages, pathNot: [testFiles, ...bundled] },
    to: { dependencyTypes: ['npm-dev'], dependencyTypesNot: ['type-only'] },
  },
  {
    name: 'nest-in-apps-only',
    comment: 'Nest is a shell around plain functions, and lives in apps.',
    from: { pathNot: ['^apps/', '^examples/notifier/nest/', '(^|/)node_modules/'] },
    to: { path: npmPath(['@nestjs']) },
  },
  {
    name: 'entrance-only',
    comment: 'A package is entered through its index (specs: also through its testing entrance).',
    from: { path: '^(libs|apps|integrations)/(?!(?:test|examples)/)([^/]+)/', pathNot: testFiles },
    to: { path: insideOfAPackage, pathNot: ['^$1/$2/', ...entrances] },
  },
  {
    name: 'entrance-only-for-specs',
    comment: 'A package is entered through its index or its testing entrance.',
    from: {
      path: testFiles.split('|').map((ending) => `^(?:libs|apps|integrations)/(?!test/)([^/]+)/.*(?:${ending})`),
    },
    to: { path: insideOfAPackage, pathNot: ['^(libs|apps|integrations)/$1/', ...entrances, '/src/testing\\.ts$'] },
  },
  {
    name: 'entrance-only-from-outside',
    comment:
      'Tests, benchmarks and examples enter a package as its users do, or by its testing entrance. A published one has no contract suite, which needs jest: a test imports that suite.',
    from: { path: '^(?:integrations/)?(?:test|bench|examples)/' },
    to: {
      path: insideOfAPackage,
      pathNot: [...entrances, '/src/testing\\.ts$', '/src/testing/.*\\.contract\\.ts$', '^apps/cli/bin/'],
    },
  },
  {
    name: 'no-own-index',
    comment: 'The index is for others, its examples among them. Inside, import the file that has it.',
    from: { path: '^(libs|apps|integrations)/([^/]+)/(?!examples/)' },
    to: { path: '^$1/$2/src/index\\.ts$' },
  },
  {
    name: 'examples-import-ours',
    comment:
      'Examples show what a customer has: the SDK, the client of the API, the adapters, the contracts and Countersign in process.',
    from: { path: anyExample },
    to: {
      path: anyOfOurs,
      pathNot: [
        '^libs/(worker-sdk|api-client|contracts)/',
        '^integrations/adapters/',
        '^apps/standalone/src/index\\.ts$',
      ],
    },
  },
];

export const forbidden = [...generalRules, ...floors.flatMap(rulesOf), ...vendorRules(), ...apart].map((rule) => ({
  severity: 'error',
  ...rule,
}));

export const cruiseOptions = {
  // Dependents and metrics take a fifth of the time, and no rule asks for them.
  skipAnalysisNotInRules: true,
  doNotFollow: { path: ['(^|/)node_modules/'] },
  exclude: { path: ['^(libs|apps|integrations)/[^/]+/dist/', '^coverage/'] },
  tsPreCompilationDeps: true,
  combinedDependencies: true,
  moduleSystems: ['es6', 'cjs'],
  enhancedResolveOptions: {
    exportsFields: ['exports'],
    conditionNames: ['import', 'types', 'node', 'default'],
  },
};
