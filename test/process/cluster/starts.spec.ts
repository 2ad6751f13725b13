import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';
import { freePort } from '../../ports.js';
import { openKeeper } from './keeper-process.js';
import { openStoreServer, startRole, storeUrl, writeTokens } from './roles.js';

cleanUpAfterEach();

interface Started {
  readonly role: string;
  readonly version: string;
  readonly files: Readonly<Record<string, string>>;
}

const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/) as unknown;

test('the roles without tokens record their start too: version, and the digest of each configuration file', async () => {
  const { port } = await openStoreServer();
  const secrets = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(secrets, name), text, { mode: 0o600 });
    return join(secrets, name);
  };
  const { privateKey } = generateKeyPairSync('ed25519');
  const brokers = `127.0.0.1:${String(await freePort())}`;
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_KAFKA_BROKERS: brokers };
  const tools = 'tools: [{ name: deploy, http: { url: "http://127.0.0.1:9/deploy" } }]\n';
  const gateway = await startRole('gateway', { ...env, COUNTERSIGN_TOKENS_FILE: writeTokens() });
  await openKeeper(storeUrl(port));
  await Promise.all([
    startRole('relay', env),
    startRole('resolver', { ...env, COUNTERSIGN_TOOLS: file('tools.yaml', tools) }),
    startRole('notary', {
      ...env,
      COUNTERSIGN_LOG_KEY_FILE: file('log.pem', privateKey.export({ type: 'pkcs8', format: 'pem' })),
      COUNTERSIGN_NOTARY_TOKEN_FILE: file('token', `${'a-token'.padEnd(40, '-')}\n`),
      COUNTERSIGN_NOTARY_PORT: String(await freePort()),
      COUNTERSIGN_LOG_SINKS: file('sinks.yaml', `[{ folder: ${JSON.stringify(join(secrets, 'sink'))} }]\n`),
    }),
  ]);
  await gateway.ready();
  const path = '/v1/audit/events?types=ProcessStarted';
  const started = await eventually('the starts', async () => {
    const { status, text } = await gateway.http.send({ method: 'GET', path, token: 'ann-token' });
    const lines = status === 200 ? text.trimEnd().split('\n') : [];
    const all = lines.map((line) => (JSON.parse(line) as { readonly data: Started }).data);
    return all.length >= 5 ? all : undefined;
  });
  const byRole = Object.fromEntries(started.map((data) => [data.role, data]));
  expect(Object.keys(byRole).sort()).toEqual(['gateway', 'keeper', 'notary', 'relay', 'resolver']);
  for (const { version } of started) expect(version).toMatch(/^\d+\.\d+\.\d+/);
  expect(byRole['resolver']?.files).toMatchObject({ tools: digest });
  expect(byRole['notary']?.files).toEqual({ sinks: digest });
  expect([byRole['relay']?.files, byRole['keeper']?.files]).toEqual([{}, {}]);
});
