// Makes the credentials of the cluster in docker-compose.yml at its first start, and prints those of the agents.
//
//   node credentials.mjs create /credentials   makes what is missing, and leaves everything else as it is
//   node credentials.mjs show /credentials     prints the HTTP tokens and what a worker needs for Kafka, as JSON
//
// Each folder in /credentials is a volume of its own, so that each service sees its own password alone. Every file has mode 0600.
import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { selfSigned } from './certificate.mjs';

/** The users of Kafka that sign in with a file of their own; `broker` and `health` are known to the broker alone. */
const users = ['admin', 'operator', 'worker', 'ledger', 'relay', 'projector', 'resolver', 'notifier', 'notary'];
/** The processes that borrow keys from the keeper, each role with a token of its own. */
const borrowers = ['gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier'];
/** The processes that ask the notaries, because they write to the log. */
const writers = ['gateway', 'ledger', 'projector', 'resolver', 'notifier'];
const kid = 'worker-1';

const [command, root] = process.argv.slice(2);
if (root === undefined || (command !== 'create' && command !== 'show')) {
  process.stderr.write('usage: node credentials.mjs create|show FOLDER\n');
  process.exit(2);
}
if (command === 'create') create();
else show();

function create() {
  const passwords = Object.fromEntries([
    ...users.map((user) => [user, kept(join(root, user, 'kafka-password'), newPassword)]),
    ...['broker', 'health'].map((user) => [user, kept(join(root, 'kafka', `${user}-password`), newPassword)]),
  ]);
  write(join(root, 'kafka', 'jaas.conf'), brokerLogin(passwords));
  write(join(root, 'kafka', 'health.properties'), clientLogin('health', passwords.health));
  const privateKey = kept(join(root, 'worker', 'signing-key.pem'), newSigningKey);
  registerKey(join(root, 'requests', 'keys.json'), privateKey);
  createForKeeper();
  createForNotary();
  process.stdout.write('the credentials are in their volumes; to see them: docker compose run --rm show-credentials\n');
}

/** The tokens that the keeper knows, and its certificate, which is its own authority. */
function createForKeeper() {
  const tokens = borrowers.map((role) => kept(join(root, role, 'keeper-token'), newToken));
  write(join(root, 'keeper', 'keeper-tokens'), `${tokens.join('\n')}\n`);
  const [certFile, keyFile] = [join(root, 'keeper', 'keeper.pem'), join(root, 'keeper', 'keeper-key.pem')];
  if (!existsSync(certFile) || !existsSync(keyFile)) {
    // The second name is for a client in the container of the keeper itself.
    const { cert, key } = selfSigned(['keeper', 'localhost']);
    write(keyFile, `${key}\n`);
    write(certFile, `${cert}\n`);
  }
  const cert = readFileSync(certFile, 'utf8');
  for (const role of borrowers) write(join(root, role, 'keeper.pem'), cert);
}

/** The log key, which signs checkpoints; the tokens that the notaries know; and the certificate, which is its own authority. */
function createForNotary() {
  kept(join(root, 'notary', 'log-key.pem'), newSigningKey);
  const tokens = writers.map((role) => kept(join(root, role, 'notary-token'), newToken));
  write(join(root, 'notary', 'notary-tokens'), `${tokens.join('\n')}\n`);
  const [certFile, keyFile] = [join(root, 'notary', 'notary.pem'), join(root, 'notary', 'notary-key.pem')];
  if (!existsSync(certFile) || !existsSync(keyFile)) {
    const { cert, key } = selfSigned(['notary-1', 'notary-2', 'localhost']);
    write(keyFile, `${key}\n`);
    write(certFile, `${cert}\n`);
  }
  const cert = readFileSync(certFile, 'utf8');
  for (const role of writers) write(join(root, role, 'notary.pem'), cert);
}

/** The key of the first worker, in the list of those that requests may be signed with. Other keys stay. */
function registerKey(file, privateKey) {
  const publicKey = createPublicKey(createPrivateKey(privateKey)).export({ format: 'jwk' });
  const others = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')).filter((entry) => entry.kid !== kid) : [];
  // The principal of the agent's token: what it asks over Kafka it may also see and claim over HTTP.
  const first = { kid, publicKey, tenant: 'default', principal: 'agent', agentIds: ['*'] };
  write(file, `${JSON.stringify([first, ...others], null, 2)}\n`);
}

function show() {
  const read = (...path) => readFileSync(join(root, ...path), 'utf8').trim();
  const tokens = JSON.parse(read('tokens', 'tokens.json'));
  const credentials = {
    tokens: Object.fromEntries(tokens.map(({ principal, token }) => [principal, token])),
    kafka: {
      sasl: { mechanism: 'plain', username: 'worker', password: read('worker', 'kafka-password') },
      signing: { kid, privateKey: `${read('worker', 'signing-key.pem')}\n` },
    },
  };
  process.stdout.write(`${JSON.stringify(credentials, null, 2)}\n`);
}

/** The broker's own user, and everybody that it lets in. Passwords have no character that would need quoting. */
function brokerLogin(passwords) {
  const known = Object.entries(passwords).map(([user, password]) => `  user_${user}="${password}"`);
  return [
    'KafkaServer {',
    '  org.apache.kafka.common.security.plain.PlainLoginModule required',
    `  username="broker" password="${passwords.broker}"`,
    `${known.join('\n')};`,
    '};\n',
  ].join('\n');
}

function clientLogin(user, password) {
  const login = `org.apache.kafka.common.security.plain.PlainLoginModule required username="${user}" password="${password}";`;
  return `security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=${login}\n`;
}

function newPassword() {
  return randomBytes(24).toString('base64url');
}

function newToken() {
  return randomBytes(32).toString('hex');
}

function newSigningKey() {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).trim();
}

/** What the file says; a file that is missing is made first. */
function kept(file, make) {
  if (!existsSync(file)) write(file, `${make()}\n`);
  return readFileSync(file, 'utf8').trim();
}

/** A file is there whole or not at all, so a start that was interrupted can be repeated. */
function write(file, text) {
  mkdirSync(dirname(file), { recursive: true });
  const draft = `${file}.new`;
  writeFileSync(draft, text, { mode: 0o600, flush: true });
  renameSync(draft, file);
}
