// Runs one TypeScript or JavaScript file of this repository under the pinned Node, after install and build.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { runUnder } from '../apps/cli/bin/pinned-node.js';
import { ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

const [file, ...args] = process.argv.slice(2);
if (!file || !existsSync(join(root, file))) {
  console.error(`There is no ${file || 'file to run'}.`);
  process.exit(1);
}
await ensureInstalled();
await ensureBuilt();
runUnder(recentNode(), [join(root, file), ...args]);
