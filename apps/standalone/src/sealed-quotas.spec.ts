import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';

const policy = `version: 1
default: require
quotas: { pendingPerAgent: 2, deniedBeforeCoolDown: 1, coolDown: 10m, coalesceIdentical: true }
`;
const secret = 'correct-horse-battery';

it('counts calls with values that are encrypted at rest, also after a restart, until their agent is denied', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-quotas-'));
  const tokens = [
    { token: 'agent-token', principal: 'agent', roles: ['agent'] },
    { token: 'ann-token', principal: 'ann', roles: ['approver'] },
  ];
  writeFileSync(join(folder, 'policy.yaml'), policy);
  writeFileSync(join(folder, 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  const env = {
    ...{ COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0' },
    ...{ COUNTERSIGN_POLICY: join(folder, 'policy.yaml'), COUNTERSIGN_TOKENS_FILE: join(folder, 'tokens.json') },
  };
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const start = () => startStandalone(readStandaloneConfig(env), world);
  let server = await start();
  try {
    const post = (path: string, token: string, body: object): Promise<Response> =>
      fetch(`${server.url}${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    const login = (toolCallId: string, password: string): Promise<Response> =>
      post('/v1/tool-calls', 'agent-token', {
        runId: 'run',
        calls: [{ toolCallId, toolName: 'login', arguments: { password } }],
      });
    const first = await login('a', secret);
    expect(first.status).toBe(201);
    await server.stop();
    expect(readFileSync(join(folder, 'data', 'read-model.db')).includes(secret)).toBe(false);
    server = await start();
    const identical = await login('b', secret);
    expect([identical.status, await identical.json()]).toMatchObject([
      409,
      { code: 'already-pending', toolCallId: 'a' },
    ]);
    expect((await login('b', 'another')).status).toBe(201);
    expect((await login('c', 'a third')).status).toBe(429);
    const { calls } = (await first.json()) as { calls: readonly { approval: { approvalId: string } }[] };
    const path = `/v1/approvals/${calls[0]?.approval.approvalId ?? ''}/responses`;
    expect((await post(path, 'ann-token', { decision: { type: 'deny' } })).status).toBe(200);
    const cooling = await login('d', 'a fourth');
    expect([cooling.status, ((await cooling.json()) as { detail: string }).detail]).toEqual([
      429,
      expect.stringContaining('were denied in a row') as unknown,
    ]);
    expect(Number(cooling.headers.get('retry-after'))).toBeGreaterThan(540);
  } finally {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  }
});
