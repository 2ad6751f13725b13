// `npm run pack [folder]`: writes what customers install into packages, as tarballs for `npm install`.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { ensureAdapters, root } from './prepare.mjs';

const target = resolve(process.argv[2] ?? join(root, 'packages'));
await ensureAdapters();
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const adapters = readdirSync(join(root, 'libs', 'adapters'), { withFileTypes: true })
  .filter(({ name }) => existsSync(join(root, 'libs', 'adapters', name, 'package.json')))
  .map(({ name }) => join('adapters', name));
for (const name of ['contracts', 'http-client', 'api-client', 'worker-sdk', 'conformance', ...adapters]) {
  copyFileSync(join(root, 'LICENSE'), join(root, 'libs', name, 'LICENSE'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', target], {
    cwd: join(root, 'libs', name),
    stdio: ['ignore', 'ignore', 'inherit'],
    shell: process.platform === 'win32',
  });
}
for (const file of readdirSync(target)) console.log(relative(process.cwd(), join(target, file)));
