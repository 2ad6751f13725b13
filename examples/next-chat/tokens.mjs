// Puts the tokens of a Countersign on this machine into the environment. On the first run it adds the entry of this
// application, a front end, to the tokens file: the server reads a changed file within two seconds.
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import '../local-tokens.mjs';

const principal = 'next-chat';
const file = join(process.env.COUNTERSIGN_DATA || join(import.meta.dirname, '..', '..', 'data'), 'tokens.json');

process.env.COUNTERSIGN_FRONT_END_TOKEN ||= frontEndToken();

function frontEndToken() {
  const entries = JSON.parse(readFileSync(file, 'utf8'));
  const known = entries.find((entry) => entry.principal === principal && entry.roles.includes('front-end'));
  if (known) return known.token;
  const token = `cs_${randomBytes(32).toString('base64url')}`;
  const added = { token, principal, roles: ['front-end'], people: { groups: ['support'] } };
  writeFileSync(file, `${JSON.stringify([...entries, added], null, 2)}\n`);
  console.log(`Added the front end "${principal}" to ${file}.`);
  return token;
}
