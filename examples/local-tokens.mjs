// Puts the tokens of a server on this machine into the environment of an example: node --import …/local-tokens.mjs example.ts
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const { COUNTERSIGN_DATA: folder = join(import.meta.dirname, '..', 'data') } = process.env;
const file = join(folder, 'tokens.json');

function readTokens() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    console.error(
      `No tokens in ${file}: start the server with \`npm start\`, or set COUNTERSIGN_DATA to its data folder.`,
    );
    process.exit(1);
  }
}

for (const { principal, token = '' } of readTokens()) {
  if (principal === 'agent') process.env.COUNTERSIGN_TOKEN ||= token;
  if (principal === 'worker') process.env.COUNTERSIGN_RESOLVER_TOKEN ||= token;
}
