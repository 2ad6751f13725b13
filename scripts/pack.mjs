// `npm run pack [folder]`: writes what customers install as tarballs for `npm install`.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureAdapters, root } from './prepare.mjs';

const usage = `npm run pack [folder]

Writes the packages that customers install into the folder (packages), as tarballs for \`npm install\`. Tarballs of an
earlier run are replaced. A folder that holds anything else is refused.`;

const target = readTarget();
mkdirSync(target, { recursive: true });
removeTarballs();
await ensureAdapters();
const libraries = [
  'contracts',
  'http-client',
  'json-schema',
  'text',
  'api-client',
  'worker-sdk',
  'receipt',
  'react',
].map((name) => join('libs', name));
const adapters = readdirSync(join(root, 'integrations', 'adapters'))
  .map((name) => join('integrations', 'adapters', name))
  .filter((folder) => existsSync(join(root, folder, 'package.json')));
const packages = [...libraries, join('integrations', 'conformance'), ...adapters].map((folder) => join(root, folder));
for (const folder of packages) copyFileSync(join(root, 'LICENSE'), join(folder, 'LICENSE'));
execFileSync('npm', ['pack', '--silent', '--pack-destination', target, ...packages], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
  shell: process.platform === 'win32',
});
for (const file of readdirSync(target)) console.log(relative(process.cwd(), join(target, file)));

function readTarget() {
  let given;
  try {
    given = parseArgs({ allowPositionals: true, options: { help: { type: 'boolean', short: 'h' } } });
  } catch (error) {
    fail(`${error.message}\n\n${usage}`);
  }
  if (given.values.help) {
    console.log(usage);
    process.exit(0);
  }
  if (given.positionals.length > 1) fail(`Name one folder, not ${given.positionals.length}.\n\n${usage}`);
  return resolve(given.positionals[0] ?? join(root, 'packages'));
}

function removeTarballs() {
  const found = readdirSync(target);
  const other = found.find((name) => !/^countersign-.*\.tgz$/.test(name));
  if (other) fail(`${target} holds ${other}, which is no tarball of ours. Name a new folder, or an empty one.`);
  for (const name of found) rmSync(join(target, name));
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
