// Writes docs/asyncapi.json, which is generated from the contracts' schemas; with --check it only lints it.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Parser } from '@asyncapi/parser';
import { ensureBuilt, ensureInstalled, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();
const contracts = pathToFileURL(join(root, 'libs', 'contracts', 'dist', 'index.js')).href;
const { createAsyncApiDocument } = await import(contracts);
const text = `${JSON.stringify(createAsyncApiDocument(), null, 2)}\n`;
const file = join(root, 'docs', 'asyncapi.json');

const problems = (await new Parser().validate(text)).filter(({ severity }) => severity <= 1);
for (const { message, path } of problems) console.error(`${path.join('.')}: ${message}`);
const isLint = process.argv.includes('--check');
const isStale = isLint && readFileSync(file, 'utf8') !== text;
if (isStale) console.error('docs/asyncapi.json is not what the schemas say: npm run asyncapi');
if (!isLint && problems.length === 0) writeFileSync(file, text);
process.exitCode = problems.length > 0 || isStale ? 1 : 0;
