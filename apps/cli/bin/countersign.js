#!/usr/bin/env node
// Plain JavaScript that any Node from 16 on can read: it may be the machine's own Node that starts it.
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { neededNode, nodeToRun, runUnder, stopWithParent, takeSignalsOnce } from './pinned-node.js';

const main = new URL('../bundle/main.js', import.meta.url);

// A hook that fails or is killed must block its tool, and agents take only 2 for a block, some of them only with a text. After
// the tool there is nothing to block.
if (process.argv.includes('hook') && !process.argv.includes('--post')) {
  process.on('exit', (code) => {
    if (code === 0 || code === 2) return;
    console.error(`countersign: the hook ended with ${code}, so the tool did not run.`);
    process.exitCode = 2;
  });
}

const node = nodeToRun();
if (!existsSync(fileURLToPath(main))) {
  console.error(
    'countersign: not built yet. Run `npm start` (it installs, builds and starts), or `npm ci && npm run build`.',
  );
  process.exitCode = 1;
} else if (!node) {
  console.error(
    `countersign: needs Node ${neededNode} or newer with SQLite 3.51 or newer; this is ${process.version} with SQLite ${process.versions.sqlite || 'none'}, and no pinned Node is installed. Run \`npm ci\`, or use a newer Node.`,
  );
  process.exitCode = 1;
} else if (node === process.execPath) {
  takeSignalsOnce();
  stopWithParent();
  await import(main.href);
} else {
  runUnder(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)]);
}
