import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolCallView } from '@countersign/contracts';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';
import type { Standalone } from './standalone.js';

const tokenOf = (principal: string): string => `cs_0123456789012345678901234567890123456789-${principal}`;
let folder: string;
let server: Standalone;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-nested-'));
  const tokensFile = join(folder, 'tokens.json');
  const entries = ['agent', 'other'].map((principal) => ({ token: tokenOf(principal), principal, roles: ['agent'] }));
  writeFileSync(tokensFile, JSON.stringify(entries), { mode: 0o600 });
  const env = { COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0', COUNTERSIGN_TOKENS_FILE: tokensFile };
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  server = await startStandalone(readStandaloneConfig(env), world);
});
afterAll(async () => {
  await server.stop();
  rmSync(folder, { recursive: true, force: true });
});

const send = async <T>(as: string, path: string, body?: unknown): Promise<T> => {
  const headers = { authorization: `Bearer ${tokenOf(as)}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  return (await fetch(`${server.url}${path}`, init)).json() as Promise<T>;
};
let nth = 0;
const request = async (as: string, runId: string, parentCallId?: string): Promise<string> => {
  const toolCallId = `call-${String((nth += 1))}`;
  const call = {
    toolCallId,
    toolName: 'delegate',
    arguments: {},
    needsApproval: true,
    ...(parentCallId && { parentCallId }),
  };
  const { calls } = await send<{ calls: ToolCallView[] }>(as, '/v1/tool-calls', { runId, calls: [call] });
  expect(calls[0]?.state).toBe('awaiting_approval');
  return calls[0]?.callId ?? '';
};
const stateOf = async (as: string, callId: string, waitMs = 0) =>
  (await send<ToolCallView>(as, `/v1/tool-calls/${callId}?waitMs=${String(waitMs)}&until=decided`)).state;

it('what one principal runs inside a call ends with it, in the same run and in others, and what another runs does not', async () => {
  const outer = await request('agent', 'run-1');
  const sameRun = await request('agent', 'run-1', outer);
  const otherRun = await request('agent', 'run-2', outer);
  const deeper = await request('agent', 'run-3', otherRun);
  const foreign = await request('other', 'run-4', outer);
  const beside = await request('agent', 'run-1');
  await send('agent', `/v1/tool-calls/${outer}/cancel`, { reason: 'not wanted' });
  for (const callId of [sameRun, otherRun, deeper]) expect(await stateOf('agent', callId, 30_000)).toBe('cancelled');
  expect([await stateOf('other', foreign), await stateOf('agent', beside)]).toEqual([
    'awaiting_approval',
    'awaiting_approval',
  ]);
});
