import { Webhook } from 'standardwebhooks';
import { describe, expect, test } from '@jest/globals';
import { interactive, openVendorServer, slackPress } from '@countersign/channels/testing';
import { cleanUpAfterEach, onCleanup } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import type { Installation } from '../harness/standalone.js';
import { findingsOf } from '../harness/verified-folder.js';
import { eventually } from '../harness/wait.js';
import { buttonOf, openReach, pressInSlack, pressInTelegram, webhookSecret } from './reach.js';

cleanUpAfterEach();

const canary = 'canary-5f1e9c';

async function ask({ http, tokens }: Installation, toolCallId: string, runId = 'run-1'): Promise<string> {
  const call = {
    toolCallId,
    toolName: 'delete_file',
    needsApproval: true,
    arguments: {
      path: '/etc',
      password: canary,
      body: JSON.stringify({ user: 'me', credentials: { apiKey: canary } }),
      nested: { list: [{ apiKey: canary }, { 'x-api-key': [canary] }], authorization: { value: canary } },
    },
  };
  const answer = await http.send({
    method: 'POST',
    path: '/v1/tool-calls',
    token: tokens.agent,
    body: { runId, calls: [call] },
  });
  const { calls } = answer.body as {
    readonly calls: readonly { readonly approval: { readonly approvalId: string } }[];
  };
  return calls[0]?.approval.approvalId ?? '';
}

async function stateOf({ http, tokens }: Installation, approvalId: string): Promise<unknown> {
  const answer = await http.send({ method: 'GET', path: `/v1/approvals/${approvalId}`, token: tokens.me });
  return answer.body;
}

describe('standalone with channels', () => {
  test('asks everywhere, takes the answer of one, changes the other copies, tells the outcome, and shows no secret', async () => {
    const reach = await openReach([
      '{ to: [ops-slack, ops-telegram, mail] }',
      '{ events: [approved, denied], to: [pager] }',
    ]);
    const collector = await openVendorServer(() => ({ body: {} }));
    onCleanup(collector.close);
    const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
    const installed = await install({ ...reach.env, ...traced }, reach.folder);
    const approvalId = await ask(installed, 'call-1');
    await eventually('a card in Slack', () => reach.slack.calls().length > 0 || undefined);
    await eventually('a card in Telegram', () => reach.telegram.calls().length > 0 || undefined);
    expect(await pressInSlack(installed.port, buttonOf(reach, 'approve'))).toBe(200);
    await eventually('the copies', () => {
      const methods = [...reach.slack.calls(), ...reach.telegram.calls()].map(({ method }) => method);
      return (methods.includes('chat.update') && methods.includes('editMessageText')) || undefined;
    });
    expect(await stateOf(installed, approvalId)).toMatchObject({
      state: 'approved',
      responses: [{ respondedBy: 'me', via: 'ops-slack' }],
    });
    await eventually('the webhook', () => reach.hooks.received.length > 0 || undefined);
    const [hook] = reach.hooks.received;
    const told = new Webhook(webhookSecret).verify(hook?.body ?? '', hook?.headers as Record<string, string>);
    expect(told).toMatchObject({ type: 'approval.approved', data: { approvalId } });
    const late = reach.telegram.calls()[0]?.args['reply_markup'] as { inline_keyboard: { callback_data: string }[][] };
    expect(await pressInTelegram(installed.port, late.inline_keyboard[0]?.[1]?.callback_data ?? '')).toBe(200);
    await eventually(
      'the late one is told',
      () =>
        reach.telegram
          .calls()
          .some(
            ({ method, args }) => method === 'answerCallbackQuery' && String(args['text']).includes('Already approved'),
          ) || undefined,
    );
    const spans = (): string => collector.received.map(({ body }) => body).join('\n');
    await eventually('the spans', () => spans().includes('POST /v1/tool-calls') || undefined);
    const everything = JSON.stringify([
      spans(),
      reach.slack.received,
      reach.telegram.received,
      reach.hooks.received,
      reach.mail.raw,
      installed.server().output(),
      (await installed.http.send({ method: 'GET', path: '/metrics', token: installed.tokens.me })).text,
      await stateOf(installed, approvalId),
    ]);
    expect(everything).not.toContain(canary);
    expect(everything).toContain('[masked');
    await installed.server().stop();
    // The audit knows the channel and the rights of its people.
    expect(await findingsOf(installed.dataFolder)).toEqual([]);
  }, 180_000);

  test('takes the answers of a Slack app without a public address, whose posts it does not take', async () => {
    const reach = await openReach(['{ to: [ops-slack] }'], { slackMode: 'socket' });
    const installed = await install(reach.env, reach.folder);
    const { sockets } = reach.slack;
    const approvalId = await ask(installed, 'call-1');
    await eventually('a card in Slack', () => reach.slack.calls().length > 0 || undefined);
    await eventually('the connection', () => sockets.connected() > 0 || undefined);
    const { action_id: actionId, value } = buttonOf(reach, 'approve');
    expect(await pressInSlack(installed.port, { action_id: actionId, value })).toBe(404);
    expect(await stateOf(installed, approvalId)).toMatchObject({ state: 'pending' });
    const press = interactive(slackPress(actionId, value));
    expect((await sockets.deliver(press)).afterMs).toBeLessThan(3_000);
    await sockets.deliver(press);
    await eventually('the answer', async () => {
      const { state } = (await stateOf(installed, approvalId)) as { readonly state: string };
      return state === 'approved' || undefined;
    });
    expect(await stateOf(installed, approvalId)).toMatchObject({
      responses: [{ respondedBy: 'me', via: 'ops-slack' }],
    });
    await eventually('the copy', () => reach.slack.calls().some(({ method }) => method === 'chat.update') || undefined);
    expect(reach.slack.calls().some(({ method }) => method === 'views.open')).toBe(false);
    expect(await installed.server().stop()).toEqual({ code: 0, signal: null });
    await eventually('its connection to end', () => sockets.connected() === 0 || undefined);
    expect(sockets.violations).toEqual([]);
    expect(installed.server().output()).not.toMatch(/xapp-1|xoxb-1|ticket/);
  }, 180_000);

  test('a link in a mail decides nothing by itself, and only for the person it was made for', async () => {
    const reach = await openReach(['{ to: [mail] }']);
    const installed = await install(reach.env, reach.folder);
    const asked = await Promise.all([ask(installed, 'call-1', 'run-1'), ask(installed, 'call-2', 'run-2')]);
    await eventually('the mail', () => reach.mail.raw.length > 0 || undefined);
    const mails = await reach.mail.mails();
    expect(mails).toHaveLength(1);
    expect(mails[0]).toMatchObject({ subject: '2 approvals are waiting for you', to: ['me@example.com'] });
    const paths = [...(mails[0]?.text ?? '').matchAll(/http\S+(\/a\/\S+)/g)].map(([, path = '']) => path);
    expect(paths).toHaveLength(2);
    const at = (path: string): string => `http://127.0.0.1:${String(installed.port)}${path}`;
    for (const path of [...paths, ...paths]) {
      expect((await fetch(at(path))).status).toBe(200);
      expect((await fetch(at(`${path}/card`))).status).toBe(401);
      expect(
        (
          await fetch(at(`${path}/response`), {
            method: 'POST',
            headers: { 'content-type': 'application/json', 'countersign-client': 'inbox' },
            body: '{"decision":{"type":"approve"}}',
          })
        ).status,
      ).toBe(401);
    }
    for (const approvalId of asked) expect(await stateOf(installed, approvalId)).toMatchObject({ state: 'pending' });
    const headers = { 'content-type': 'application/json', 'countersign-client': 'inbox' };
    const signedIn = await fetch(at('/session'), {
      method: 'POST',
      headers,
      body: JSON.stringify({ token: installed.tokens.me }),
    });
    const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
    const card = await fetch(at(`${paths[0] ?? ''}/card`), { headers: { cookie } });
    const shown = (await card.json()) as { readonly approval: { readonly approvalId: string } };
    expect(JSON.stringify(shown)).not.toContain(canary);
    const respond = (path: string): Promise<Response> =>
      fetch(at(`${path}/response`), {
        method: 'POST',
        headers: { ...headers, cookie },
        body: '{"decision":{"type":"deny"},"reason":"no"}',
      });
    expect((await respond(paths[0] ?? '')).status).toBe(200);
    expect((await respond(paths[0] ?? '')).status).toBe(409);
    expect((await respond(`${paths[1] ?? ''}x`)).status).toBe(404);
    expect(await stateOf(installed, shown.approval.approvalId)).toMatchObject({
      state: 'denied',
      responses: [{ respondedBy: 'me', via: 'mail' }],
    });
    await installed.server().stop();
    expect(await findingsOf(installed.dataFolder)).toEqual([]);
  }, 180_000);

  test('killed between sending and recording: one card comes twice at most, and none is forgotten', async () => {
    const reach = await openReach(['{ to: [ops-slack] }']);
    const installed = await install({ ...reach.env, COUNTERSIGN_CRASH_AT: 'notifier.sent:3' }, reach.folder);
    for (let n = 1; n <= 8; n += 1)
      await ask(installed, `call-${String(n)}`, `run-${String(n)}`).catch(() => undefined);
    expect(await installed.server().exited).toMatchObject({ signal: 'SIGKILL' });
    await installed.restart({ COUNTERSIGN_CRASH_AT: '' });
    for (let n = 1; n <= 8; n += 1) await ask(installed, `call-${String(n)}`, `run-${String(n)}`);
    const cards = (): readonly string[] =>
      reach.slack.calls().map(({ args }) => /Run: (run-\d)/.exec(JSON.stringify(args))?.[1] ?? '');
    await eventually('every card', () => new Set(cards()).size === 8 || undefined);
    expect(cards().length).toBeLessThanOrEqual(9);
  }, 180_000);
});
