import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolCallView } from '@countersign/contracts';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';
import type { Standalone } from './standalone.js';

const policy = `version: 1
rules:
  - { id: never-large, match: { tools: [refund] }, when: 'args.amount > 100', then: { block: "too large" } }
  - id: silence-allows
    match: { tools: [refund] }
    then: { require: { expiresIn: 1s, onTimeout: allow, allowOnTimeout: i-understand, risk: low } }
  - { id: short, match: { tools: [delete_file] }, then: { require: { expiresIn: 1s } } }
`;
const token = 'cs_0123456789012345678901234567890123456789';
let folder: string;
let server: Standalone;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-silence-'));
  const [policyFile, tokensFile] = [join(folder, 'policy.yaml'), join(folder, 'tokens.json')];
  writeFileSync(policyFile, policy);
  // Silence means something only where a person could object.
  const person = { token: `${token}-of-me`, principal: 'me', roles: ['approver'] };
  const tokens = [{ token, principal: 'agent', roles: ['agent'] }, person];
  writeFileSync(tokensFile, JSON.stringify(tokens), { mode: 0o600 });
  const env = { COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0', COUNTERSIGN_POLICY: policyFile };
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  server = await startStandalone(readStandaloneConfig({ ...env, COUNTERSIGN_TOKENS_FILE: tokensFile }), world);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const send = async <T>(path: string, body?: unknown): Promise<T> => {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${server.url}${path}`, init)).json() as Promise<T>;
};
let calls = 0;
/** Requests a call and waits, in one long poll, until it is decided. */
const askAndWait = async (toolName: string, args: object): Promise<ToolCallView> => {
  const toolCallId = `call-${String((calls += 1))}`;
  const body = { runId: 'run-1', calls: [{ toolCallId, toolName, arguments: args }] };
  const [asked] = (await send<{ calls: ToolCallView[] }>('/v1/tool-calls', body)).calls;
  expect(asked).toMatchObject({ state: 'awaiting_approval' });
  return send<ToolCallView>(`/v1/tool-calls/${asked?.callId ?? ''}?waitMs=30000&until=decided`);
};

describe('a call that no person answers in time', () => {
  it('is shown as expired to the reader that waits for it', async () => {
    const call = await askAndWait('delete_file', {});
    expect(call).toMatchObject({ state: 'expired', approval: { state: 'expired', resolution: 'expired' } });
    expect(call.settledAt).toBe(call.approval?.resolvedAt);
    expect(Date.parse(call.settledAt ?? '')).toBeGreaterThanOrEqual(Date.parse(call.approval?.expiresAt ?? ''));
  });

  it('is approved where the rule says so', async () => {
    // A machine that is so busy that nobody is answered for seconds lets no silence approve: asked again.
    const states: string[] = [];
    while (states.at(-1) !== 'approved' && states.length < 5) {
      states.push((await askAndWait('refund', { amount: 5 })).state);
    }
    expect(states.at(-1)).toBe('approved');
  });

  it('is denied where a rule that might block it has no answer', async () => {
    const { state, verdict } = await askAndWait('refund', { sum: 5 });
    expect([state, verdict.ruleId]).toEqual(['expired', 'silence-allows']);
  });
});
