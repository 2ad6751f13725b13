import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { cpuMsOf } from './fuzz/watched-process.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';

cleanUpAfterEach();

const approvals = 8;
const [proposalsMax, bytesMax] = [64, 1024 * 1024];
/** So large that 64 of them just fit. */
const edited = (nth: number) => ({ to: 'supplier', nth, text: 'x'.repeat(15_800) });
const policy = 'version: 1\nrules: [{ id: two, then: { require: { quorum: { approve: 2, deny: 2 } } } }]\n';

interface Pending {
  readonly approvalId: string;
  readonly isPreview?: boolean;
}

test('approvals at their limits keep the list small; the longest wait of others and the next start are printed', async () => {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, policy);
  const { http, tokens, restart, server } = await install({ COUNTERSIGN_POLICY: file });
  const send = (method: 'GET' | 'POST', path: string, token: string, body?: unknown) =>
    http.send({ method, path, token, timeoutMs: 100_000, ...(body === undefined ? {} : { body }) });
  const calls = Array.from({ length: approvals }, (_, nth) => ({
    ...{ toolCallId: `c${String(nth)}`, toolName: 'wire', arguments: edited(0), needsApproval: true },
  }));
  expect((await send('POST', '/v1/tool-calls', tokens.agent, { runId: 'run-1', calls })).status).toBe(201);
  const list = async (query = '') => send('GET', `/v1/approvals?limit=1000${query}`, tokens.me);
  const ids = ((await list()).body as { approvals: Pending[] }).approvals.map(({ approvalId }) => approvalId);
  const pathOf = (id: string): string => `/v1/approvals/${id}`;

  const edit = (id: string, nth: number) =>
    send('POST', `${pathOf(id)}/responses`, tokens.me, { decision: { type: 'edit', arguments: edited(nth) } });
  for (const id of ids) {
    let proposals = 1;
    for (let answer = await edit(id, proposals); answer.status === 200; answer = await edit(id, proposals))
      proposals += 1;
    expect(proposals).toBeLessThanOrEqual(proposalsMax);
    expect(await edit(id, proposals)).toMatchObject({ status: 409, body: { code: 'too-many' } });
  }
  const whole = (await send('GET', pathOf(ids[0] ?? ''), tokens.me)).text.length;
  const preview = (await list('&preview=true')).text.length;
  expect(preview).toBeLessThan(bytesMax);

  /** The longest wait of a request that needs no approval, in ms, within some seconds. */
  const longestWaitMs = async (): Promise<number> => {
    let longest = 0;
    for (const since = performance.now(); performance.now() - since < 5000;) {
      const askedAt = performance.now();
      expect((await http.send({ method: 'GET', path: '/healthz' })).status).toBe(200);
      longest = Math.max(longest, performance.now() - askedAt);
    }
    return Math.round(longest);
  };
  const idleMs = await longestWaitMs();
  let [isOver, reads] = [false, 0];
  const cpuBefore = cpuMsOf(server().pid);
  const readers = Array.from({ length: 10 }, async (_, nth) => {
    for (; !isOver; reads += 1) await send('GET', pathOf(ids[nth % ids.length] ?? ''), tokens.me);
  });
  const besideReadersMs = await longestWaitMs();
  isOver = true;
  await Promise.all(readers);
  const cpuOfReadMs = Math.round((cpuMsOf(server().pid) - cpuBefore) / reads);
  await server().stop();
  const startedAt = performance.now();
  await restart();
  const startMs = performance.now() - startedAt;
  expect((await list()).status).toBe(200);
  const figures = { whole, preview, cpuOfReadMs, idleMs, besideReadersMs, startMs: Math.round(startMs) };
  process.stdout.write(`${String(approvals)} approvals at their limits: ${JSON.stringify(figures)}\n`);
});
