import { spawn } from 'node:child_process';
import { Webhook } from 'standardwebhooks';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { runCli } from '../cli/run-cli.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import { install } from '../harness/standalone.js';
import type { Installation } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';
import { openReach, webhookSecret } from './reach.js';

cleanUpAfterEach();

const root = join(import.meta.dirname, '..', '..', '..');

async function ask({ http, tokens }: Installation, runId: string): Promise<void> {
  const call = { toolCallId: runId, toolName: 'delete_file', arguments: { path: '/x' }, needsApproval: true };
  const answer = await http.send({
    ...{ method: 'POST', path: '/v1/tool-calls', token: tokens.agent },
    body: { runId, calls: [call] },
  });
  expect(answer.status).toBe(201);
}

describe('countersign channels', () => {
  test('check names every problem of a file at once; test sends one message without a request for approval', async () => {
    const reach = await openReach(['{ to: [ops-slack] }']);
    const place = { folder: reach.folder, port: await freePort(), env: reach.env };
    const file = reach.env['COUNTERSIGN_CHANNELS'] ?? '';
    const fine = await runCli(place, ['channels', 'check', file]);
    expect(fine).toMatchObject({ code: 0 });
    expect(fine.out).toMatch(/ops-slack \(slack\).*pager \(webhook\)/);
    const wrong = join(reach.folder, 'wrong.yaml');
    writeFileSync(
      wrong,
      readFileSync(file, 'utf8').replace('channel: C0123', 'channel: ops').replace('SMTP_URL', 'NONE'),
    );
    const refused = await runCli(place, ['channels', 'check', wrong]);
    expect(refused.code).not.toBe(0);
    expect(`${refused.out}${refused.err}`).toMatch(/channels\[0\]\.channel/);
    expect(`${refused.out}${refused.err}`).toMatch(/NONE is not set/);
    const sent = await runCli(place, ['channels', 'test', 'ops-slack']);
    expect(sent).toMatchObject({ code: 0 });
    expect(sent.out).toContain('delivered');
    expect(JSON.stringify(reach.slack.calls())).toContain('a test');
    expect(JSON.stringify(reach.slack.calls())).not.toContain('action_id');
    reach.hooks.next.push({ status: 500 });
    const failed = await runCli(place, ['channels', 'test', 'pager']);
    expect(failed.code).not.toBe(0);
    expect(`${failed.out}${failed.err}`).toContain('the endpoint answers 500');
  });

  test('status shows an endpoint that wants no more, also after a restart, and why another channel fails', async () => {
    const reach = await openReach(['{ to: [pager, ops-slack, ops-telegram] }']);
    const installed = await install(reach.env, reach.folder);
    const place = { folder: reach.folder, port: installed.port, env: reach.env };
    const status = async (): Promise<string> => (await runCli(place, ['status'])).out;
    reach.hooks.next.push({ status: 410 });
    const body = { ok: false, error_code: 400, description: 'Bad Request: chat not found' };
    reach.telegram.next.push(...Array.from({ length: 3 }, () => ({ status: 400, body })));
    await ask(installed, 'run-1');
    await eventually('status to say so', async () => (await status()).includes('pager: off') || undefined);
    const why =
      /ops-telegram: failing[\s\S]*ops-telegram is failing: Telegram answers 400: Bad Request: chat not found/;
    await eventually('status to say why', async () => why.test(await status()) || undefined);
    await installed.server().stop();
    await installed.restart();
    await eventually('status to say so again', async () => /pager: off/.test(await status()) || undefined);
    await eventually('the other one to be well', async () => (await status()).includes('ops-slack: ok') || undefined);
    await ask(installed, 'run-2');
    await eventually('the other channel', () => reach.slack.calls().length >= 2 || undefined);
    expect(reach.hooks.received).toHaveLength(1);
  }, 240_000);
});

test('the receiver of the documentation takes what is signed, and nothing else', async () => {
  const file = join(root, 'examples', 'webhook-receiver.mjs');
  expect(readFileSync(join(root, 'docs', 'channels.md'), 'utf8')).toContain(readFileSync(file, 'utf8'));
  const port = await freePort();
  const env = { PATH: process.env['PATH'], HOOK_SECRET: webhookSecret, PORT: String(port) };
  const receiver = spawn(process.execPath, [file], { cwd: root, env, stdio: ['ignore', 'pipe', 'inherit'] });
  onCleanup(() => void receiver.kill('SIGKILL'));
  let printed = '';
  receiver.stdout.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const url = `http://127.0.0.1:${String(port)}`;
  const forged = (): Promise<Response | undefined> =>
    fetch(url, { method: 'POST', body: '{"type":"approval.approved","data":{}}' }).catch(() => undefined);
  const refused = await eventually('the receiver to listen', forged);
  expect(refused.status).toBe(401);
  // A character that the network splits stays one.
  const [body, sentAt] = [Buffer.from('{"type":"approval.requested","data":{"callId":"tc_é"}}'), new Date()];
  const headers = {
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
    'webhook-signature': new Webhook(webhookSecret).sign('msg_1', sentAt, body),
  };
  const split = body.indexOf('é') + 1;
  const parts = ReadableStream.from([body.subarray(0, split), body.subarray(split)]);
  expect((await fetch(url, { method: 'POST', headers, body: parts, duplex: 'half' })).status).toBe(204);
  const folder = temporaryFolder();
  const channels = join(folder, 'channels.yaml');
  const entry = `{ id: pager, type: webhook, url: "${url}/", secret: { env: HOOK_SECRET }, allowPrivateNetwork: true }`;
  writeFileSync(channels, `version: 1\nchannels: [${entry}]\n`);
  const place = { folder, port, env: { COUNTERSIGN_CHANNELS: channels, HOOK_SECRET: webhookSecret } };
  expect(await runCli(place, ['channels', 'test', 'pager'])).toMatchObject({ code: 0 });
  await eventually('what it prints', () => printed.includes('toolcall.blocked tc_test') || undefined);
});
