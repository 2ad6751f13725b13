import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, test } from '@jest/globals';
import { cpuMsOf } from './fuzz/watched-process.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const approvals = 8;
const [proposalsMax, bytesMax] = [64, 1024 * 1024];
/** So large that 64 of them just fit. */
const edited = (nth: number) => ({ to: 'supplier', nth, text: 'x'.repeat(15_800) });
/** Of the main thread, without a look at others. A read of the largest approval takes 10 to 20 ms. */
const turnMsMax = 250;
const startCpuMsMax = 5_000;
const policy = 'version: 1\nrules: [{ id: two, then: { require: { quorum: { approve: 2, deny: 2 } } } }]\n';

interface Pending {
  readonly approvalId: string;
  readonly isPreview?: boolean;
}

test('approvals at their limits keep the list small, nobody waits long for their readers, and the next start is soon', async () => {
  const folder = temporaryFolder();
  const [file, turnFile] = [join(folder, 'policy.yaml'), join(folder, 'turn')];
  writeFileSync(file, policy);
  const watched = pathToFileURL(join(import.meta.dirname, 'harness', 'longest-turn.mjs')).href;
  const env = { NODE_OPTIONS: `--import=${watched}`, LONGEST_TURN_FILE: turnFile, COUNTERSIGN_POLICY: file };
  const { http, port, tokens, restart, server } = await install(env);
  /** The longest turn of the main thread since it was asked for the last time. */
  const longestTurnMs = async (): Promise<number> => {
    rmSync(turnFile, { force: true });
    server().kill('SIGUSR2');
    return eventually('the longest turn', () => {
      const text = existsSync(turnFile) ? readFileSync(turnFile, 'utf8') : '';
      return text.endsWith('\n') ? Number(text) : undefined;
    });
  };
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

  await longestTurnMs();
  const cpuBefore = cpuMsOf(server().pid);
  // Each on a connection of its own, so that they arrive together.
  const reads = await Promise.all(
    Array.from({ length: 300 }, async (_, nth) => {
      const headers = { authorization: `Bearer ${tokens.me}` };
      const answer = await fetch(`http://127.0.0.1:${String(port)}${pathOf(ids[nth % ids.length] ?? '')}`, { headers });
      await answer.arrayBuffer();
      return answer.status;
    }),
  );
  expect(new Set(reads)).toEqual(new Set([200]));
  const cpuOfReadMs = Math.round((cpuMsOf(server().pid) - cpuBefore) / reads.length);
  const besideReadersMs = await longestTurnMs();
  expect(besideReadersMs).toBeLessThan(turnMsMax);
  await Promise.all([list(), list('&preview=true'), ...ids.map((id) => edit(id, proposalsMax))]);
  const besideListsMs = await longestTurnMs();
  expect(besideListsMs).toBeLessThan(turnMsMax);
  await server().stop();
  await restart();
  const startCpuMs = cpuMsOf(server().pid);
  expect(startCpuMs).toBeLessThan(startCpuMsMax);
  expect((await list()).status).toBe(200);
  const figures = { whole, preview, cpuOfReadMs, besideReadersMs, besideListsMs, startCpuMs };
  process.stdout.write(`${String(approvals)} approvals at their limits: ${JSON.stringify(figures)}\n`);
});
