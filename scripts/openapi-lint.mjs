// Lints the OpenAPI document that the gateway generates from its schemas.
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();
const file = join(root, '.cache', 'openapi.json');
const gateway = pathToFileURL(join(root, 'apps', 'gateway', 'dist', 'index.js')).href;
const write = `
  const { createOpenApiDocument } = await import(${JSON.stringify(gateway)});
  if (!createOpenApiDocument) throw new Error('apps/gateway exports no createOpenApiDocument');
  process.stdout.write(JSON.stringify(createOpenApiDocument(), null, 2));
`;
const generated = spawnSync(recentNode(), ['--input-type=module', '--eval', write], { encoding: 'utf8' });
if (generated.status !== 0) {
  console.error(generated.stderr);
  process.exit(1);
}
mkdirSync(join(root, '.cache'), { recursive: true });
writeFileSync(file, generated.stdout);
const redocly = join(root, 'node_modules', '@redocly', 'cli', 'bin', 'cli.js');
const { status } = spawnSync(recentNode(), [redocly, 'lint', file], {
  cwd: root,
  env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  stdio: 'inherit',
});
process.exitCode = status === null ? 1 : status;
