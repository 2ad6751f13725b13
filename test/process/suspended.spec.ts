import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { whileFrozen } from '../freeze.ts';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

const rules = ['1s', '2s', '5s'].map(
  (limit) => `
  - id: silence-after-${limit}
    match: { tools: [pay-within-${limit}] }
    then: { require: { expiresIn: ${limit}, onTimeout: allow, allowOnTimeout: i-understand, risk: low } }`,
);

test('silence approves nothing about a time in which the server was suspended', async () => {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, `version: 1\nrules:${rules.join('')}\n`);
  const { http, tokens, server } = await install({ COUNTERSIGN_POLICY: file });
  const ask = async (toolCallId: string, limit: string): Promise<ToolCallView> => {
    const calls = [{ toolCallId, toolName: `pay-within-${limit}`, arguments: {} }];
    const body = { runId: 'run-1', calls };
    const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    const [call] = (answer.body as { readonly calls: readonly ToolCallView[] }).calls;
    if (call?.approval === undefined) throw new Error(answer.text);
    return call;
  };
  const ended = async ({ callId }: ToolCallView): Promise<string> => {
    const path = `/v1/tool-calls/${callId}?waitMs=30000&until=decided`;
    const { body } = await http.send({ method: 'GET', path, token: tokens.agent });
    return (body as ToolCallView).state;
  };
  let nth = 0;
  const [ending, open] = await Promise.all([ask('ends-meanwhile', '2s'), ask('ends-later', '5s')]);
  const denied = await whileFrozen(server().pid, async () => {
    const path = `/v1/approvals/${String(ending.approval?.approvalId)}/responses`;
    const body = { decision: { type: 'deny' }, reason: 'no' };
    // Not awaited before the server goes on: until then nothing answers.
    const answer = http.send({ method: 'POST', path, token: tokens.me, body });
    await sleep(2500);
    return { answer };
  });
  // Sent in time: it may count, or come after the end. Either way nothing was approved.
  expect([200, 409, 410]).toContain((await denied.answer).status);
  expect(['denied', 'expired']).toContain(await ended(ending));
  expect(await ended(open)).toBe('expired');
  // A busy machine may stand still once more.
  await eventually('an approval by silence', async () => {
    nth += 1;
    return (await ended(await ask(`asked-afterwards-${String(nth)}`, '1s'))) === 'approved' || undefined;
  });
});
