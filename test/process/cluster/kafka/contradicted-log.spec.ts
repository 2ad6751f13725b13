import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../ports.js';
import { cleanUpAfterEach, temporaryFolder } from '../../harness/cleanup.js';
import { startDoubtingWitness } from '../../harness/doubting-witness.js';
import { eventually } from '../../harness/wait.js';
import { countedTools, moduleToolWithoutApproval } from '../../traffic/tools.js';
import { readinessOf } from '../roles.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

test('a resolver runs nothing while a witness contradicts the log, and goes on when a person goes on with the log', async () => {
  const folder = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text, { mode: 0o600 });
    return join(folder, name);
  };
  const witness = await startDoubtingWitness();
  const tools = await countedTools(folder);
  const cluster = await openReachCluster({ env: { COUNTERSIGN_TOOLS: tools.toolsFile } });
  const port = String(await freePort());
  const asking = {
    COUNTERSIGN_NOTARY_TOKEN_FILE: file('token', `${'a-token-of-a-process'.padEnd(40, '-')}\n`),
    COUNTERSIGN_NOTARY_URL: `http://127.0.0.1:${port}`,
  };
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  const [{ server: gateway }, relay, notary] = await Promise.all([
    cluster.start('gateway', asking),
    cluster.start('relay'),
    cluster.start('notary', {
      ...witness.env,
      COUNTERSIGN_NOTARY_PORT: port,
      COUNTERSIGN_NOTARY_TOKEN_FILE: asking.COUNTERSIGN_NOTARY_TOKEN_FILE,
      COUNTERSIGN_LOG_KEY_FILE: file('log-key.pem', pem),
    }),
  ]);
  for (const server of [gateway, relay.server, notary.server]) await cluster.untilReady(server);
  const send = (path: string, body: object, token = 'ann-token') =>
    gateway.http.send({ method: 'POST', path, token, body });
  const ask = (runId: string) => {
    const call = { toolCallId: 'call', toolName: moduleToolWithoutApproval, arguments: { path: 'a' } };
    return send('/v1/tool-calls', { runId, calls: [call] }, 'agent-token');
  };
  expect((await ask('before')).status).toBe(201);
  await eventually('a checkpoint', async () =>
    (await send('/v1/log/checkpoint', {})).status === 200 ? true : undefined,
  );
  witness.doubt();
  expect((await ask('again')).status).toBe(201);
  const late = await eventually('the gateway to refuse commands', async () => {
    await send('/v1/log/checkpoint', {});
    const answer = await ask(`late-${String(Date.now())}`);
    return answer.status === 503 ? answer : undefined;
  });
  expect(late.body).toMatchObject({ code: 'unavailable' });
  const resolver = (await cluster.start('resolver', asking)).server;
  await cluster.untilReady(resolver);
  const logCheck = async () => (await readinessOf(resolver))?.body;
  await eventually('the resolver to know', async () =>
    JSON.stringify(await logCheck()).includes('read-only: log-rewound') ? true : undefined,
  );
  // Long enough for a resolver to run what is allowed.
  await new Promise((resolve) => setTimeout(resolve, 5_000));
  expect(tools.executions()).toEqual([]);

  expect((await send('/v1/log/continue', { reason: 'the witness was wrong' })).status).toBe(200);
  await eventually('both calls to run', () => Promise.resolve(tools.executions().length >= 2 || undefined));
}, 240_000);
