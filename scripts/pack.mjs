// `npm run pack [folder]`: writes what customers install into packages, as tarballs for `npm install`.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { ensureAdapters, root } from './prepare.mjs';

const target = resolve(process.argv[2] ?? join(root, 'packages'));
await ensureAdapters();
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const libraries = ['contracts', 'http-client', 'json-schema', 'api-client', 'worker-sdk', 'receipt'].map((name) =>
  join('libs', name),
);
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
