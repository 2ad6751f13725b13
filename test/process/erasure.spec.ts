import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { deriveCallId } from '@countersign/contracts';
import type { ErasureView, EventView, ToolCallView } from '@countersign/contracts';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';

cleanUpAfterEach();

const secrets = ['hunter2-in-an-argument', 'hunter2-in-a-url', 'hunter2-in-an-edit', 'hunter2-in-an-output'] as const;
const [inArgument, inUrl, inEdit, inOutput] = secrets;
const subject = 'customer-42';
const callId = deriveCallId('default', 'run-1', 'call');

async function post(
  { http, tokens }: Installation,
  as: 'agent' | 'me' | 'worker',
  path: string,
  body: object,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const token = tokens[as];
  const answer = await http.send({ method: 'POST', path, token, idempotencyKey: `${as} ${path}`, body });
  return { status: answer.status, body: answer.body };
}

/** A call whose secrets go everywhere: arguments, an edit, an output, a kept response. It is settled. */
async function playSecrets(installation: Installation): Promise<void> {
  const args = { password: inArgument, hook: `https://me:${inUrl}@host.example/`, note: 'plain' };
  const call = { toolCallId: 'call', toolName: 'pay', arguments: args, labels: { subject }, needsApproval: true };
  const requested = await post(installation, 'agent', '/v1/tool-calls', {
    runId: 'run-1',
    calls: [call],
  });
  expect(requested.status).toBe(201);
  const decision = { type: 'edit', arguments: { ...args, token: inEdit, password: '[masked]' } };
  const { calls } = requested.body as { readonly calls: readonly ToolCallView[] };
  const approvalId = calls[0]?.approval?.approvalId ?? '';
  const shown = await installation.http.send({
    method: 'GET',
    path: `/v1/approvals/${approvalId}`,
    token: installation.tokens.me,
  });
  const { arguments: masked } = shown.body as { arguments: { password: string; hook: string } };
  Object.assign(decision.arguments, { password: masked.password, hook: masked.hook });
  expect(JSON.stringify(masked)).not.toContain('hunter2');
  const responded = await post(installation, 'me', `/v1/approvals/${approvalId}/responses`, { decision });
  expect(responded.status).toBe(200);
  const claimed = await post(installation, 'worker', `/v1/tool-calls/${callId}/claim`, {
    resolverId: 'worker',
  });
  expect(JSON.stringify(claimed.body)).toContain(inArgument);
  const outcome = { attempt: 1, status: 'succeeded', output: { apiKey: inOutput, ok: true } };
  expect((await post(installation, 'worker', `/v1/tool-calls/${callId}/outcome`, outcome)).status).toBe(200);
}

/** The files of the data folder that have one of the secrets in their bytes, and what the process printed. */
function placesOf({ dataFolder, server }: Installation): string[] {
  const places = readdirSync(dataFolder).filter((name) => {
    const bytes = readFileSync(join(dataFolder, name));
    return secrets.some((secret) => bytes.includes(secret) || bytes.includes(Buffer.from(secret).toString('base64')));
  });
  return secrets.some((secret) => server().output().includes(secret)) ? [...places, 'output'] : places;
}

async function auditOf({ http, tokens }: Installation): Promise<{ toolCall: ToolCallView; events: EventView[] }> {
  const path = `/v1/audit/tool-calls/${callId}/events?values=clear`;
  return (await http.send({ method: 'GET', path, token: tokens.me })).body as never;
}

async function proofsOf({ http, tokens }: Installation): Promise<readonly EventView[]> {
  const { text } = await http.send({ method: 'GET', path: '/v1/audit/events', token: tokens.me });
  const events = text.split('\n').filter((line) => line !== '');
  return events.map((line) => JSON.parse(line) as EventView).filter(({ type }) => type === 'SubjectErased');
}

const erase = (installation: Installation, body: object = {}) =>
  installation.http.send({
    method: 'POST',
    path: '/v1/subjects/erase',
    token: installation.tokens.me,
    body: { subject, ...body },
  });

test('no file of the data folder has a secret: while it runs, after a stop, and after an erasure', async () => {
  const installation = await install();
  await playSecrets(installation);
  expect(JSON.stringify(await auditOf(installation))).toMatch(/in-an-argument.*in-an-edit.*in-an-output/s);
  expect(placesOf(installation)).toEqual([]);
  await installation.server().stop();
  expect(placesOf(installation)).toEqual([]);
  await installation.restart();
  const answer = await erase(installation, { reason: 'asked' });
  expect([answer.status, answer.body]).toMatchObject([
    200,
    { status: 'erased', calls: 1, values: 6 } satisfies Partial<ErasureView>,
  ]);
  expect(placesOf(installation)).toEqual([]);
  const { toolCall, events } = await auditOf(installation);
  expect(JSON.stringify([toolCall, events])).not.toContain('hunter2');
  expect(toolCall).toMatchObject({ state: 'succeeded', arguments: { password: '[erased]', note: 'plain' } });
  expect(await proofsOf(installation)).toHaveLength(1);
  // The kept responses are gone: the claim is judged by the rules.
  const again = await post(installation, 'worker', `/v1/tool-calls/${callId}/claim`, { resolverId: 'worker' });
  expect(again.status).toBe(409);
  await installation.server().stop();
  expect(placesOf(installation)).toEqual([]);
});

describe('a crash', () => {
  test.each(['keys.before-commit', 'keys.after-commit'])(
    '%s: the request is repeated, and its value is encrypted',
    async (point) => {
      const installation = await install();
      await installation.server().stop('SIGKILL');
      const crashing = await installation.restart({ COUNTERSIGN_CRASH_AT: `${point}:1` });
      await expect(playSecrets(installation)).rejects.toThrow();
      expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
      await installation.restart();
      await playSecrets(installation);
      expect(placesOf(installation)).toEqual([]);
    },
  );

  test.each([
    ['erase.before-record', 'kept'],
    ['erase.recorded', 'erased'],
    ['erase.rebuilt', 'erased'],
    // The first destruction is that of the key of the kept responses.
    ['erase.before-checkpoint:2', 'erased'],
  ])('%s: the values are %s at the next start', async (point, end) => {
    const installation = await install();
    await playSecrets(installation);
    await installation.server().stop();
    const crashing = await installation.restart({ COUNTERSIGN_CRASH_AT: point });
    await expect(erase(installation)).rejects.toThrow();
    expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
    await installation.restart();
    const shown = JSON.stringify(await auditOf(installation));
    const proofs = await proofsOf(installation);
    if (end === 'kept') {
      expect([shown.includes(inArgument), proofs]).toEqual([true, []]);
      expect((await erase(installation)).body).toMatchObject({ status: 'erased', values: 6 });
    } else {
      expect([shown.includes('hunter2'), proofs.length]).toEqual([false, 1]);
      expect((await erase(installation)).body).toMatchObject({ status: 'nothing-to-erase' });
    }
    expect(JSON.stringify(await auditOf(installation))).not.toContain('hunter2');
    expect(await proofsOf(installation)).toHaveLength(1);
  });
});
