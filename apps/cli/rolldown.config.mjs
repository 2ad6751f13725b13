import { execFileSync } from 'node:child_process';
import http from 'node:http';

// The bundle that `countersign` runs: everything that one command needs, in a few files instead of 1,700 modules. Nest
// asks for these when they are there; the client of KurrentDB loads native code from its own folder.
const external = [
  /^@nestjs\/websockets/,
  /^class-(transformer|validator)/,
  /^@grpc\/proto-loader$/,
  /^(amqp-connection-manager|amqplib|ioredis|mqtt|nats)$/,
  /^@fastify\/view$/,
  /^@kurrent\/kurrentdb-client$/,
];

/** What `verify.mjs` needs of a Node that is older than ours, by the name of the module. */
const ofOlderNodes = {
  // `hash` came with Node 20.12.
  'node:crypto': `import * as crypto from 'crypto';
export const { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, sign, verify } = crypto;
export const hash = crypto.hash ?? ((algorithm, data, encoding = 'hex') => createHash(algorithm).update(data).digest(encoding));`,
  // SQLite came with Node 22, and is loaded when a data folder is opened.
  'node:sqlite': `import { createRequire } from 'module';
export const DatabaseSync = function (...args) {
  if (!process.versions.sqlite) throw new Error('this Node has no SQLite: use Node 22.13 or newer for a data folder');
  const { DatabaseSync: Opened } = createRequire(import.meta.url)('node:sqlite');
  return new Opened(...args);
};`,
};

const olderNodes = {
  name: 'older-nodes',
  resolveId: (id) => (Object.hasOwn(ofOlderNodes, id) ? `\0${id}` : null),
  load: (id) => ofOlderNodes[id.slice(1)] ?? null,
};

/**
 * An `import` of `node:http` reads all its members at once, and `WebSocket` and its like among them load Node's whole client of HTTP: half of
 * what a short command takes. So the bundle takes the members that are plain values, each from the module itself.
 */
const plainHttp = {
  name: 'plain-http',
  resolveId: (id, _importer, { kind }) => (/^(node:)?http$/.test(id) && kind === 'import-statement' ? '\0http' : null),
  load(id) {
    if (id !== '\0http') return null;
    const names = Object.entries(Object.getOwnPropertyDescriptors(http)).flatMap(([name, { get }]) =>
      get ? [] : [name],
    );
    return `const http = process.getBuiltinModule('node:http');\nexport const { ${names.join(', ')} } = http;\nexport default http;`;
  },
};

/** The parts that a verifier may have: the judge, the stored format, and what prints its words. Nothing that writes a log. */
const ofVerifier = [
  /[/]libs[/](?:audit|contracts|exports|text)[/]/,
  /[/]apps[/]cli[/]/,
  /[/]node_modules[/](?:zod|canonicalize)[/]/,
];

const noServer = {
  name: 'no-server',
  generateBundle(_options, output) {
    for (const { moduleIds = [] } of Object.values(output)) {
      const foreign = moduleIds.filter((id) => !id.startsWith('\0') && !ofVerifier.some((own) => own.test(id)));
      if (foreign.length > 0) this.error(`verify.mjs would have code of the server: ${foreign.join(', ')}`);
    }
  },
};

/** The commit of a checkout without changes; outside of one what the builder says, and otherwise nothing. */
function builtCommit() {
  const git = (...args) => execFileSync('git', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    return git('status', '--porcelain') === '' ? git('rev-parse', 'HEAD') : undefined;
  } catch {
    return process.env.COUNTERSIGN_BUILT_COMMIT || undefined;
  }
}

const commit = builtCommit();

const program = {
  // The second one is the thread of an export.
  input: { main: 'dist/main.js', 'tables-thread': 'dist/bundle/tables-thread.js' },
  platform: 'node',
  external,
  plugins: [plainHttp],
  transform: { define: { 'process.env.COUNTERSIGN_BUILT_COMMIT': commit ? JSON.stringify(commit) : 'undefined' } },
  checks: { eval: false, commonJsVariableInEsm: false },
  // Names that stay: a process that still runs when a new version is built loads its parts late.
  output: { dir: 'bundle', format: 'esm', chunkFileNames: '[name].js' },
};

/** The verifier that is one file of bare Node. */
const verifier = {
  input: 'dist/verifier/main.js',
  platform: 'node',
  plugins: [olderNodes, noServer],
  // Of the tables it needs the rows alone, not Parquet and zip.
  treeshake: { moduleSideEffects: (id) => !/hyparquet|yazl|[/]libs[/]exports[/]/.test(id) },
  transform: { target: 'node20' },
  output: {
    file: 'bundle/verify.mjs',
    format: 'esm',
    codeSplitting: false,
    banner: '// Countersign: verifies a log without Countersign. Generated; node verify.mjs --help tells how.',
  },
};

export default [program, verifier];
