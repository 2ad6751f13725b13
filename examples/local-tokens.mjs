// Puts the tokens of a server on this machine into the environment of an example: node --import …/local-tokens.mjs example.ts
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

if (!process.features.typescript) {
  console.error(`Node ${process.versions.node} does not run the TypeScript of the examples: use Node 22.18 or later.`);
  process.exit(1);
}

const file = join(process.env.COUNTERSIGN_DATA || join(import.meta.dirname, '..', 'data'), 'tokens.json');

function tokenOf(principal, variable) {
  try {
    const entry = JSON.parse(readFileSync(file, 'utf8')).find((each) => each.principal === principal);
    if (entry.token && typeof entry.token === 'string') return entry.token;
  } catch {
    // A missing or broken file, or one without this entry: the remedy is the same.
  }
  console.error(
    `No token of "${principal}" in ${file}: start the server with \`npm start\`, set COUNTERSIGN_DATA to its data folder, or set ${variable}.`,
  );
  process.exit(1);
}

process.env.COUNTERSIGN_TOKEN ||= tokenOf('agent', 'COUNTERSIGN_TOKEN');
process.env.COUNTERSIGN_RESOLVER_TOKEN ||= tokenOf('worker', 'COUNTERSIGN_RESOLVER_TOKEN');
