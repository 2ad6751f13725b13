// The one table of who may use what. ESLint's and dependency-cruiser's rules are made from it (rules.mjs, ../eslint.config.mjs),
// and `test/architecture` proves that each of them turns red. A floor changes by an ADR first.

/** Node's modules that touch neither network nor disk. */
const harmless = [
  'assert',
  'async_hooks',
  'buffer',
  'crypto',
  'events',
  'perf_hooks',
  'stream',
  'timers',
  'url',
  'util',
];
const files = ['fs', 'os', 'path', 'process'];

/**
 * unit      the folder, one package
 * ours      our packages it may import; `types:` in front: their types only
 * npm       packages of others, in production code
 * node      modules of Node, without `node:`; 'any' for no limit
 * adapters  folder in `src` → the vendor clients that may be imported there and nowhere else
 * entrances folders in `src` whose `index.ts` is an entrance of its own, so that only its users load what is behind it, or so
 *           that they load nothing else
 * bundled   built into files that need no package when they run
 * pure      reads no clock, draws no chance, and says no by returning a value
 * edge      files of a pure unit that read what a person wrote, once, and may refuse it by throwing
 */
export const floors = [
  // Runs wherever texts are shown, browsers among them.
  { unit: 'libs/text', floor: 0, ours: [], npm: [], node: [], pure: true },
  {
    unit: 'libs/contracts',
    floor: 0,
    ours: [],
    npm: ['zod', 'canonicalize'],
    node: ['crypto'],
    // Without zod, for the command line and the browser.
    entrances: ['backoff', 'clock'],
  },
  {
    unit: 'libs/runtime',
    floor: 1,
    // The clock, which is in the contracts for the packages of customers too (ADR 63).
    ours: ['contracts'],
    npm: ['pino', 'zod'],
    node: [...harmless, ...files, 'net', 'dns'],
    // The check for public addresses is used there alone, so that there is one guard.
    adapters: { network: ['ipaddr.js'], database: ['node:sqlite'] },
  },
  // Runs in browsers too, and where a command must start at once.
  { unit: 'libs/http-client', floor: 1, ours: ['contracts'], npm: [], node: [] },
  // Generated from the OpenAPI document, for programs of others.
  { unit: 'libs/api-client', floor: 1, ours: ['http-client'], npm: ['openapi-fetch'], node: [] },
  { unit: 'libs/domain', floor: 1, ours: ['types:contracts'], npm: [], node: [], pure: true },
  {
    unit: 'libs/policy',
    floor: 1,
    // Values of the contracts too: its file is parsed with their schemas and hashed with their digest. The evaluator of
    // expressions is a parameter, because only a file with expressions needs it.
    ours: ['contracts', 'types:cel'],
    npm: ['zod', 'yaml', 'smol-toml', 'toml-eslint-parser'],
    node: [],
    pure: true,
    edge: 'load-*.ts',
  },
  // Proofs over the log. Its judges use it, so it knows of the server the stored format alone (ADR 78).
  { unit: 'libs/audit', floor: 1, ours: ['contracts'], npm: [], node: ['crypto'], pure: true },
  // Files for people and for tools of others: rows, CSV, Parquet.
  {
    unit: 'libs/exports',
    floor: 2,
    // The report counts a fast approval by the rule of the domain.
    ours: ['contracts', 'domain'],
    npm: ['hyparquet-writer', 'yazl'],
    node: ['crypto', 'stream', 'zlib'],
  },
  // Registrations and signatures of people, as the server verifies them. The audit verifies them by itself.
  { unit: 'libs/passkeys', floor: 1, ours: ['contracts'], npm: ['@simplewebauthn/server'], node: ['crypto'] },
  // Time stamps of others over checkpoints. The roots are read without ASN.1.
  {
    unit: 'libs/timestamps',
    floor: 1,
    ours: [],
    npm: ['@peculiar/asn1-cms', '@peculiar/asn1-schema', '@peculiar/asn1-tsp', '@peculiar/asn1-x509', 'asn1js'],
    node: ['crypto'],
    entrances: ['roots'],
  },
  // Expressions of the policy file: evaluated in steps that are counted.
  {
    unit: 'libs/cel',
    floor: 1,
    ours: ['contracts'],
    npm: ['@bufbuild/cel', '@bufbuild/cel-spec', '@bufbuild/protobuf', 're2js'],
    node: [],
    pure: true,
    // Called by the library, which turns what they throw into an error value.
    edge: '{conversions,environment,json-values,meter,patterns,texts,times}.ts',
  },
  // JSON Schemas that strangers send, evaluated in counted steps.
  {
    unit: 'libs/json-schema',
    floor: 1,
    ours: ['types:contracts'],
    npm: ['re2js'],
    node: [],
    pure: true,
    // A failure of the pattern engine is thrown on: it is no answer about the pattern.
    edge: 'patterns.ts',
  },
  // For the servers of tools, also on edge runtimes: nothing but the standard web APIs.
  { unit: 'libs/receipt', floor: 1, ours: [], npm: [], node: [] },
  // The card, the decision panel and the list, for the pages of others and for the inbox: it knows the API by its types.
  {
    unit: 'libs/react',
    floor: 2,
    ours: ['types:contracts', 'http-client', 'text'],
    npm: ['@cfworker/json-schema', '@codemirror', '@lezer/highlight', '@radix-ui/react-dialog', 'react', 'react-dom'],
    node: [],
    // The pieces, as the inbox uses them.
    entrances: ['parts'],
  },
  {
    unit: 'libs/event-store',
    floor: 2,
    ours: ['contracts', 'runtime'],
    npm: [],
    node: [...harmless, ...files],
    adapters: {
      embedded: ['node:sqlite'],
      // The keys of subjects.
      sealed: ['node:sqlite'],
      eventstoredb: ['@eventstore/db-client', '@kurrent/kurrentdb-client', '@grpc/grpc-js', 'google-protobuf'],
    },
    entrances: ['eventstoredb'],
  },
  {
    unit: 'libs/message-bus',
    floor: 2,
    ours: ['contracts', 'runtime'],
    npm: [],
    node: [...harmless, ...files],
    adapters: { embedded: ['node:sqlite'], kafka: ['kafkajs'] },
    entrances: ['kafka'],
  },
  {
    unit: 'libs/read-model',
    floor: 2,
    // Its rows are the domain's state, folded by the domain (ADR 33).
    ours: ['contracts', 'domain', 'runtime'],
    npm: [],
    node: [...harmless, ...files],
    adapters: { sqlite: ['node:sqlite'] },
  },
  {
    unit: 'libs/channels',
    floor: 2,
    ours: ['contracts', 'http-client', 'runtime', 'text'],
    npm: ['zod', 'yaml'],
    node: [...harmless, ...files, 'http', 'https'],
    adapters: {
      email: ['nodemailer'],
      slack: ['@slack/web-api', '@slack/socket-mode', 'undici'],
      telegram: ['grammy'],
      webhook: ['standardwebhooks'],
    },
  },
  {
    unit: 'libs/commands',
    floor: 3,
    // Expressions of grants are handed in; the specs take the real engine.
    ours: ['contracts', 'domain', 'event-store', 'json-schema', 'passkeys', 'policy', 'runtime', 'types:cel'],
    npm: ['zod'],
    node: harmless,
  },
  {
    unit: 'libs/worker-sdk',
    floor: 3,
    // The schemas of tools are checked by the code that the server has.
    ours: ['contracts', 'http-client', 'json-schema', 'text'],
    npm: ['zod', '@opentelemetry/api'],
    node: ['crypto'],
    // An optional peer dependency of the package.
    adapters: { kafka: ['kafkajs'] },
    entrances: ['kafka', 'mappings'],
  },
  // Starts agents and a Countersign as processes, to try an adapter in them.
  {
    unit: 'integrations/conformance',
    floor: 3,
    ours: ['contracts', 'http-client', 'worker-sdk'],
    npm: ['zod'],
    node: [...harmless, ...files, 'child_process', 'http', 'net'],
  },
  // A JSON-RPC relay before any MCP server; tool calls pass the ledger. A server for approvers, whose forms show texts of strangers.
  {
    unit: 'integrations/mcp-gate',
    floor: 3,
    ours: ['contracts', 'http-client', 'text', 'worker-sdk'],
    npm: ['@modelcontextprotocol/sdk', 'zod'],
    node: [...harmless, 'http', 'process'],
  },
  // The hooks of coding agents: a table of their forms, and one decision.
  { unit: 'integrations/coding-agents', floor: 3, ours: ['contracts', 'worker-sdk'], npm: [], node: ['path'] },
  // Adapters of the worker SDK: each has its agent framework as a peer.
  ...[
    { name: 'ai-sdk', framework: ['ai', '@ai-sdk/mcp'] },
    { name: 'openai-agents', framework: ['@openai/agents'] },
    {
      name: 'langchain',
      framework: ['@langchain/core', '@langchain/langgraph', '@langchain/langgraph-checkpoint-sqlite', 'langchain'],
    },
    { name: 'mastra', framework: ['@mastra/core', '@mastra/libsql'] },
    { name: 'ag-ui', framework: ['@ag-ui/core', '@ag-ui/client'] },
    { name: 'a2a', framework: ['@a2a-js/sdk'] },
  ].map(({ name, framework }) => ({
    unit: `integrations/adapters/${name}`,
    floor: 3,
    // The kit in their specs.
    ours: ['contracts', 'http-client', 'worker-sdk', 'conformance'],
    npm: [...framework, 'zod'],
    node: [],
  })),
  // Runs in browsers: it knows the API by its types, and its libraries are bundled.
  {
    unit: 'apps/inbox',
    floor: 4,
    ours: ['types:contracts', 'http-client', 'react', 'text'],
    npm: ['@tanstack/react-virtual', 'react', 'react-dom'],
    node: [],
    bundled: true,
  },
  { unit: 'apps/shell', floor: 4, ours: 'libs', npm: 'declared', node: 'any' },
  {
    unit: 'apps/gateway',
    floor: 4,
    ours: 'libs and shell',
    npm: 'declared',
    node: 'any',
    // The answers that a repeated request gets again.
    adapters: { sqlite: ['node:sqlite'] },
  },
  {
    unit: 'apps/notary',
    floor: 4,
    ours: 'libs and shell',
    npm: 'declared',
    node: 'any',
    // The tree over the log, and the signed checkpoints.
    adapters: { sqlite: ['node:sqlite'] },
  },
  ...['ledger', 'relay', 'projector', 'resolver', 'notifier'].map((app) => ({
    unit: `apps/${app}`,
    floor: 4,
    ours: 'libs and shell',
    npm: 'declared',
    node: 'any',
  })),
  { unit: 'apps/cluster', floor: 5, ours: 'everything', npm: 'declared', node: 'any' },
  { unit: 'apps/standalone', floor: 5, ours: 'everything', npm: 'declared', node: 'any' },
  {
    unit: 'apps/cli',
    floor: 5,
    ours: 'everything',
    npm: 'declared',
    node: 'any',
    // The audit reads the files of a data folder by itself, so that it need not trust the code that wrote them.
    adapters: { sqlite: ['node:sqlite'] },
  },
];

/** Permitted in addition to the imports of the code under test. */
export const forSpecs = {
  npm: [
    ...['@jest/globals', 'commonmark', 'fast-check', '@nestjs/testing', '@slack/bolt'],
    ...['@modelcontextprotocol/client', '@modelcontextprotocol/server'],
  ],
  node: 'any',
};

/** The permitted imports from another app: the functions that make its parts, and the errors that they throw. */
export const appFactories = '^(create|load|open|read)[A-Z]|Error$';

/** Specs, contract suites and the second entrance that exports them: not production code. */
export const testFiles = '\\.(spec|contract)\\.ts$|/src/testing\\.ts$|/src/testing/';
