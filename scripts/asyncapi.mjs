// Writes docs/asyncapi.json and docs/schemas, which are generated from the contracts' schemas; with --check it only lints.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Parser } from '@asyncapi/parser';
import { ensureBuilt, ensureInstalled, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();
const contracts = pathToFileURL(join(root, 'libs', 'contracts', 'dist', 'index.js')).href;
const { createAsyncApiDocument, createMessageSchemas } = await import(contracts);
const docs = join(root, 'docs');
const textOf = (document) => `${JSON.stringify(document, null, 2)}\n`;
const asyncapi = textOf(createAsyncApiDocument());
const schemas = Object.entries(createMessageSchemas());
const files = new Map([
  ['asyncapi.json', asyncapi],
  ...schemas.map(([name, schema]) => [join('schemas', `${name}.json`), textOf(schema)]),
]);
const there = ['asyncapi.json', ...globSync('schemas/*/*.json', { cwd: docs })];

const problems = (await new Parser().validate(asyncapi)).filter(({ severity }) => severity <= 1);
for (const { message, path } of problems) console.error(`${path.join('.')}: ${message}`);
if (process.argv.includes('--check')) {
  const names = new Set([...files.keys(), ...there]);
  const stale = [...names].filter((name) => !there.includes(name) || files.get(name) !== read(name));
  for (const name of stale) console.error(`docs/${name} is not what the schemas say: npm run asyncapi`);
  process.exitCode = problems.length > 0 || stale.length > 0 ? 1 : 0;
} else if (problems.length > 0) process.exitCode = 1;
else write();

function read(name) {
  return readFileSync(join(docs, name), 'utf8');
}

function write() {
  for (const name of there) if (!files.has(name)) rmSync(join(docs, name));
  for (const [name, text] of files) {
    mkdirSync(dirname(join(docs, name)), { recursive: true });
    writeFileSync(join(docs, name), text);
  }
}
