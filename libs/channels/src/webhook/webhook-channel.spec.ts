import { Secret, systemClock } from '@countersign/runtime';
import type { ResolveName } from '@countersign/runtime';
import { Webhook } from 'standardwebhooks';
import { sampleNotice } from '../testing/notices.js';
import { publicUrl, webhookSecret } from '../testing/opened.js';
import { openVendorServer } from '../testing/vendor-server.js';
import type { VendorServer } from '../testing/vendor-server.js';
import { createWebhookChannel } from './webhook-channel.js';

const { signal } = new AbortController();
const clock = systemClock;
let server: VendorServer;
beforeEach(async () => {
  server = await openVendorServer(() => ({ status: 200 }));
});
afterEach(async () => {
  await server.close();
});

const channelOf = (
  secret = webhookSecret,
  change: { url?: string; allowPrivateNetwork?: boolean } = {},
  resolve?: ResolveName,
) =>
  createWebhookChannel(
    { id: 'pager', type: 'webhook', url: server.url, secret: new Secret(secret), allowPrivateNetwork: true, ...change },
    { clock, publicUrl, ...(resolve === undefined ? {} : { resolve }) },
  );

it("is verified by the standard's own library, and a changed byte is not", async () => {
  await channelOf().send([sampleNotice()], { signal });
  const [{ body, headers } = { body: '', headers: {} }] = server.received;
  const verify = (text: string): unknown => new Webhook(webhookSecret).verify(text, headers as Record<string, string>);
  expect(verify(body)).toMatchObject({
    type: 'approval.requested',
    timestamp: '2026-11-22T10:00:00.000Z',
    data: { state: 'pending' },
  });
  expect(() => verify(body.replace('delete_file', 'delete_fily'))).toThrow();
});

it('names a message by the same id however often it is sent, and signs the time of each try', async () => {
  let now = Date.UTC(2030, 0, 1);
  const config = { id: 'pager', type: 'webhook', url: server.url, allowPrivateNetwork: true } as const;
  const channel = createWebhookChannel(
    { ...config, secret: new Secret(webhookSecret) },
    { clock: { ...clock, now: () => now }, publicUrl },
  );
  await channel.send([sampleNotice()], { signal });
  now += 3_600_000;
  await channel.send([sampleNotice()], { signal });
  await channel.send([sampleNotice({ notice: { messageId: 'another' } })], { signal });
  const sent = server.received.map(({ headers }) => [headers['webhook-id'], headers['webhook-timestamp']]);
  const { messageId } = sampleNotice();
  expect(sent).toEqual([
    [messageId, '1893456000'],
    [messageId, '1893459600'],
    ['another', '1893459600'],
  ]);
});

it('signs with the old key and the new one while keys are changed', async () => {
  const older = 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD';
  await channelOf(`${webhookSecret} ${older}`).send([sampleNotice()], { signal });
  const [{ body, headers } = { body: '', headers: {} }] = server.received;
  for (const one of [webhookSecret, older]) {
    expect(() => new Webhook(one).verify(body, headers as Record<string, string>)).not.toThrow();
  }
});

it.each([
  [200, { status: 'delivered' }],
  [299, { status: 'delivered' }],
  [302, { status: 'failed', reason: 'the endpoint answers 302' }],
  [410, { status: 'off' }],
  [500, { status: 'failed' }],
] as const)('takes %i for what it is', async (status, expected) => {
  server.next.push({ status, headers: { location: `${server.url}/elsewhere` } });
  expect(await channelOf().send([sampleNotice()], { signal })).toMatchObject(expected);
  expect(server.received).toHaveLength(1);
});

it('tells for how long it was asked to wait', async () => {
  server.next.push({ status: 429, headers: { 'retry-after': '7' } });
  expect(await channelOf().send([sampleNotice()], { signal })).toMatchObject({ status: 'failed', retryAfterMs: 7000 });
});

it.each([
  'http://127.0.0.1:1/',
  'http://2130706433/',
  'http://0177.0.0.1/',
  'http://[::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://169.254.169.254/latest',
  'http://[fd00:ec2::254]/',
  'http://10.0.0.1/',
])('does not go into the private network: %s', async (url) => {
  const result = await channelOf(webhookSecret, { url, allowPrivateNetwork: false }).send([sampleNotice()], { signal });
  expect(result).toMatchObject({ status: 'failed', reason: expect.stringContaining('private network') as string });
});

it('does not follow a name that is public when it is checked and private when it is used', async () => {
  let asked = 0;
  const rebinding: ResolveName = (_name, _options, done) => {
    asked += 1;
    done(null, [{ address: asked === 1 ? '127.0.0.1' : '93.184.216.34', family: 4 }]);
  };
  const url = server.url.replace('127.0.0.1', 'rebind.example');
  const result = await channelOf(webhookSecret, { url, allowPrivateNetwork: false }, rebinding).send([sampleNotice()], {
    signal,
  });
  expect(result).toMatchObject({ status: 'failed', reason: expect.stringContaining('private network') as string });
  expect(server.received).toHaveLength(0);
});

it('links a pending approval to the inbox', async () => {
  const notice = sampleNotice();
  await channelOf().send([notice], { signal });
  const body = JSON.parse(server.received[0]?.body ?? '') as { data: { link?: string } };
  expect(body.data.link).toBe(`https://countersign.example.com/approvals/${notice.approval?.approvalId ?? ''}`);
});

it('sends at most 20 kB, and names what it left out', async () => {
  const args = { text: 'ä'.repeat(30_000) };
  await channelOf().send([sampleNotice({ arguments: args, reason: 'r'.repeat(8_000), description: 'd' })], { signal });
  const [{ body } = { body: '' }] = server.received;
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
  const { data } = JSON.parse(body) as { data: Record<string, unknown> };
  expect(data).toMatchObject({ state: 'pending', toolName: 'delete_file', description: 'd', omitted: ['arguments'] });
  expect(data).toHaveProperty('link');
  expect(data).toHaveProperty('actionDigest');
});

it('sends at most 20 kB of an outcome, too', async () => {
  const notice = sampleNotice({ arguments: { text: 'x'.repeat(60_000) }, notice: { kind: 'succeeded' } });
  await channelOf().send([notice], { signal });
  const [{ body } = { body: '' }] = server.received;
  expect(Buffer.byteLength(body)).toBeLessThanOrEqual(20_000);
  expect((JSON.parse(body) as { data: unknown }).data).toMatchObject({ state: 'awaiting_approval' });
});
