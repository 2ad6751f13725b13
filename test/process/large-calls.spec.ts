import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { freePort } from '../ports.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import type { HttpAnswer } from './harness/http.js';
import { startReadyServer } from './harness/server.js';
import type { Server } from './harness/server.js';
import { readTokens } from './harness/tokens.js';

cleanUpAfterEach();

/** Together several times as large as the memory of the process. */
const [requests, callsOfEach, heapMiB] = [40, 15, 224];
/** With one character outside Latin-1, so that each character takes two bytes in memory. */
const large = `\u{1F600}${'x'.repeat(250 * 1024)}`;
const calls = requests * callsOfEach;

interface Page {
  readonly approvals: readonly { readonly approvalId: string }[];
  readonly nextCursor: string | null;
}

test('hundreds of calls with large arguments are listed, answered, cancelled and read again within a small memory', async () => {
  const folder = temporaryFolder();
  const start = async (): Promise<Server> =>
    startReadyServer({
      folder,
      port: await freePort(),
      env: { NODE_OPTIONS: `--max-old-space-size=${String(heapMiB)}` },
    });
  let server = await start();
  const { agent, me } = readTokens(folder);
  const send = (method: 'GET' | 'POST', path: string, token: string, body?: unknown): Promise<HttpAnswer> =>
    server.http.send({ method, path, token, timeoutMs: 120_000, ...(body === undefined ? {} : { body }) });

  for (let request = 0; request < requests; request += 1) {
    const requested = Array.from({ length: callsOfEach }, (_, n) => ({
      toolCallId: `call-${String(request)}-${String(n)}`,
      toolName: 'send',
      arguments: { large },
      needsApproval: true,
    }));
    expect((await send('POST', '/v1/tool-calls', agent, { runId: 'run-1', calls: requested })).status).toBe(201);
  }

  const approvalIds: string[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const after = cursor === '' ? '' : `&cursor=${cursor}`;
    const answer = await send('GET', `/v1/approvals?limit=1000${after}`, me);
    expect(answer.status).toBe(200);
    const page = answer.body as Page;
    approvalIds.push(...page.approvals.map(({ approvalId }) => approvalId));
    cursor = page.nextCursor;
  }
  expect(new Set(approvalIds).size).toBe(calls);

  expect(await send('GET', '/v1/runs/run-1', agent)).toMatchObject({
    status: 413,
    body: { code: 'payload-too-large' },
  });

  const answered = approvalIds.slice(0, 256);
  const bulk = { approvalIds: answered, decision: { type: 'deny' } };
  const answers = await send('POST', '/v1/approvals/responses', me, bulk);
  const { results } = answers.body as { results: readonly { status: string; approval?: unknown }[] };
  expect(results.map(({ status }) => status)).toEqual(answered.map(() => 'done'));
  expect(results[0]).toHaveProperty('approval');
  expect(results.at(-1)).not.toHaveProperty('approval');

  const cancelled = await send('POST', '/v1/runs/run-1/cancel', agent, { reason: 'enough' });
  expect((cancelled.body as { cancelled: readonly string[] }).cancelled).toHaveLength(calls - answered.length);

  await server.stop();
  rmSync(join(folder, 'data', 'read-model.db'));
  server = await start();
  expect((await send('GET', '/v1/approvals?state=denied&limit=1', me)).status).toBe(200);
  expect((await server.stop()).code).toBe(0);
}, 240_000);
