// `npm start`: from a fresh clone to a running Countersign. When nothing changed it adds a few milliseconds.
// In package.json a shell takes the place of `node` by a function that replaces the shell, so that signals reach this process. The
// shell of Windows has no `eval`, and runs `node` itself. npm appends its arguments to the end, so both pass them on.
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { nodeToRun, runUnder } from '../apps/cli/bin/pinned-node.js';
import { ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

await ensureInstalled();
await ensureBuilt();

const bin = join(root, 'apps', 'cli', 'bin', 'countersign.js');
const args = ['start', 'standalone', ...process.argv.slice(2)];
if (nodeToRun() === process.execPath) {
  // In this very process: no child, so no signal to hand on and no orphan to leave behind.
  process.argv = [process.execPath, bin, ...args];
  await import(pathToFileURL(bin).href);
} else {
  // With the limits of package.json's script: left to itself, V8 takes memory by what the machine has, not by what is used.
  runUnder(recentNode(), [...process.execArgv, bin, ...args]);
}
