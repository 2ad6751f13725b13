import type { Channel, Route, SendResult } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { Registry } from 'prom-client';
import { createChannelsCheck } from './channels-check.js';
import { createNotifierMetrics } from './notifier-metrics.js';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const route = (change: Partial<Route> = {}): Route => ({
  ...{ tools: ['*'], agents: ['*'], events: ['requested'], to: ['ops'], ...change },
});
const tooLong: SendResult = {
  status: 'refused',
  about: 'message',
  reason: 'Telegram answers 400: message is too long',
};
const notFound: SendResult = { status: 'failed', reason: 'Telegram answers 400: Bad Request: chat not found' };

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

/** A channel that fails while `isDown()`. */
const failingWhile = (isDown: () => boolean, change: Partial<Channel> = {}) => {
  const channel = createRecordingChannel(change);
  const send: Channel['send'] = (...given) => (isDown() ? Promise.resolve(notFound) : channel.send(...given));
  return { ...channel, send };
};
const callsIn = (sent: ReturnType<typeof createRecordingChannel>['sent']) =>
  sent.map((notices) => notices.map(({ call }) => call.toolCallId).toSorted());

it('a refusal of one message is final: it is logged, counted and recorded, and the next message is sent', async () => {
  const channel = createRecordingChannel();
  channel.answers.push(tooLong);
  const { notifier, stop } = await world.notify({ channels: [channel], routes: [route()] });
  const refused = await world.ask('refused');
  await eventually(async () => expect(await world.deliveries()).not.toEqual([]));
  await world.ask('fine', { runId: 'run-2' });
  await eventually(() => expect(callsIn(channel.sent)).toEqual([['fine']]));
  const [failure] = (await world.deliveries()).filter(({ type }) => type === 'NotificationFailed');
  expect(failure?.data).toMatchObject({ approvalId: refused, nextAttemptAt: null, reason: tooLong.reason });
  expect(world.log.entries).toContainEqual(
    expect.objectContaining({
      level: 'error',
      fields: expect.objectContaining({ approvalId: refused, reason: tooLong.reason }) as object,
    }),
  );
  const registry = new Registry();
  createNotifierMetrics(registry, notifier);
  expect(await registry.metrics()).toContain(
    'countersign_notifications_undeliverable_total{channel="ops",about="message"} 1',
  );
  expect(notifier.status().channels['ops']).toMatchObject({ state: 'ok', reason: null });
  await stop();
  await world.notify({ channels: [channel], routes: [route()], group: 'another' });
  await world.ask('last', { runId: 'run-3' });
  await eventually(() => expect(callsIn(channel.sent)).toContainEqual(['last']));
  expect(callsIn(channel.sent).flat()).not.toContain('refused');
});

it('a new round is announced after a final refusal of the first', async () => {
  const channel = createRecordingChannel();
  channel.answers.push(tooLong);
  await world.notify({ channels: [channel], routes: [route()] });
  const first = await world.ask('call-1', { expiresInMs: 1 });
  await eventually(async () => expect(await world.deliveries()).not.toEqual([]));
  await world.fireDue(first);
  const second = await world.askAgain(first);
  await eventually(() => expect(channel.sent.flat().map(({ approval }) => approval?.approvalId)).toEqual([second]));
});

it('of combined messages that are refused together, only the one that is refused alone is lost', async () => {
  const bob = { id: 'bob', email: 'bob@example.com', groups: [] };
  const channel = createRecordingChannel({ addressing: 'personal', gatherMs: 100 });
  const refuse = (notices: readonly { readonly call: { readonly toolCallId: string } }[]) =>
    notices.some(({ call }) => call.toolCallId === 'large') ? tooLong : undefined;
  channel.answers.push(refuse, refuse, refuse, refuse);
  const { notifier } = await world.notify({ channels: [channel], routes: [route()], people: () => [bob] });
  await Promise.all(['small', 'large', 'tiny'].map((call) => world.ask(call, { runId: call })));
  await eventually(() => expect(callsIn(channel.sent).flat().toSorted()).toEqual(['small', 'tiny']));
  expect(notifier.status().channels['ops']).toMatchObject({ state: 'ok', givenUp: { message: 1 } });
});

it('a message that is sent apart from others, and fails, leaves them to be sent', async () => {
  const bob = { id: 'bob', email: 'bob@example.com', groups: [] };
  const channel = createRecordingChannel({ addressing: 'personal', gatherMs: 100 });
  let odd: string | undefined;
  const send: Channel['send'] = (notices, options) => {
    if (notices.length > 1) return Promise.resolve(tooLong);
    odd ??= notices[0].call.toolCallId;
    return notices[0].call.toolCallId === odd
      ? Promise.resolve({ status: 'failed', about: 'recipient', reason: '451 later' })
      : channel.send(notices, options);
  };
  await world.notify({ channels: [{ ...channel, send }], routes: [route()], people: () => [bob] });
  await Promise.all(['one', 'two', 'three'].map((call) => world.ask(call, { runId: call })));
  await eventually(() => expect(channel.sent).toHaveLength(2));
});

it('recipients who cannot be reached now hold up no other', async () => {
  const people = ['ann', 'bob', 'cid'].map((id) => ({ id, email: `${id}@example.com`, groups: [] }));
  const channel = createRecordingChannel({ addressing: 'personal', gatherMs: 10 });
  const greylisted = { status: 'failed', about: 'recipient', reason: '450 greylisted' } as const;
  const send: Channel['send'] = (notices, options) =>
    notices[0].recipient?.id === 'cid' ? channel.send(notices, options) : Promise.resolve(greylisted);
  await world.notify({
    channels: [{ ...channel, send }],
    routes: [route()],
    people: () => people,
  });
  await world.ask('call-1');
  await eventually(() => expect(channel.sent.flat().map(({ recipient }) => recipient?.id)).toEqual(['cid']), 10_000);
  const failures = (await world.deliveries()).filter(({ type }) => type === 'NotificationFailed');
  expect(failures.length).toBeGreaterThanOrEqual(2);
  for (const { data } of failures) expect(data).toMatchObject({ nextAttemptAt: expect.any(String) as string });
});

it('a channel that fails is named in the readiness with the words of the other side, and the process is ready', async () => {
  let isDown = true;
  const channel = failingWhile(() => isDown);
  const { notifier } = await world.notify({ channels: [channel], routes: [route()] });
  const check = createChannelsCheck(() => notifier);
  expect(check.check()).toEqual({ status: 'ok' });
  await world.ask('call-1');
  const note = 'ops is failing: Telegram answers 400: Bad Request: chat not found';
  await eventually(() => expect(check.check()).toEqual({ status: 'ok', note }));
  expect(world.log.entries).toContainEqual(
    expect.objectContaining({ level: 'warn', fields: expect.objectContaining({ reason: notFound.reason }) as object }),
  );
  isDown = false;
  await eventually(() => expect(callsIn(channel.sent)).toEqual([['call-1']]));
  await eventually(() => expect(check.check()).toEqual({ status: 'ok' }));
  expect(createChannelsCheck(() => undefined).check()).toEqual({ status: 'ok' });
});

it('shows no address in the readiness, which may be public', async () => {
  const reason = 'the mail server answers 550 see https://mail.internal/why or 10.0.0.7:25';
  const channels = {
    mail: { state: 'failing', waiting: 0, reason, givenUp: { message: 0, recipient: 0, channel: 0 } },
  } as const;
  const status = { channels, planned: 0, untold: 0, notRecovered: undefined };
  const result = await createChannelsCheck(() => ({ status: () => status })).check();
  expect(JSON.stringify(result)).toContain('mail is failing: the mail server answers 550');
  expect(JSON.stringify(result)).not.toMatch(/internal|10\.0/);
});

it('tells once what an operator must change although the message was delivered', async () => {
  const channel = createRecordingChannel();
  const note = 'the chat became a supergroup: write chat: "-100" into the channels file';
  const moved: SendResult = { status: 'delivered', messageRef: 'm', note };
  channel.answers.push(moved, moved);
  await world.notify({ channels: [channel], routes: [route()] });
  await world.ask('call-1');
  await world.ask('call-2', { runId: 'run-2' });
  await eventually(() => expect(channel.sent).toHaveLength(2));
  expect(world.log.entries.filter(({ fields }) => fields['note'] === note)).toHaveLength(1);
});
