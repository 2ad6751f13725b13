// Writes docs/openapi.json, which the gateway generates from its routes and schemas, and lints it. With --check it only compares and
// lints.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();
const file = join(root, 'docs', 'openapi.json');
const gateway = pathToFileURL(join(root, 'apps', 'gateway', 'dist', 'index.js')).href;
const write = `
  const { createOpenApiDocument } = await import(${JSON.stringify(gateway)});
  if (!createOpenApiDocument) throw new Error('apps/gateway exports no createOpenApiDocument');
  process.stdout.write(JSON.stringify(createOpenApiDocument(), null, 2) + '\\n');
`;
const generated = spawnSync(recentNode(), ['--input-type=module', '--eval', write], { encoding: 'utf8' });
if (generated.status !== 0) {
  console.error(generated.stderr);
  process.exit(1);
}
const isStale = process.argv.includes('--check') && readFileSync(file, 'utf8') !== generated.stdout;
if (isStale)
  console.error(`${relative(root, file)} is not what the routes and schemas say. Update it: npm run openapi`);
if (!process.argv.includes('--check')) writeFileSync(file, generated.stdout);
const redocly = join(root, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');
const { status } = spawnSync(recentNode(), [redocly, 'lint', file], {
  cwd: root,
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  stdio: 'inherit',
});
process.exitCode = isStale ? 1 : (status ?? 1);
