import { openChannels } from '@countersign/channels';
import type { ChannelConfig, Person, Route } from '@countersign/channels';
import { mailConfigOf, openMailServer, openTelegramServer } from '@countersign/channels/testing';
import { eventually } from '@countersign/message-bus/testing';
import { Secret } from '@countersign/runtime';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(() => world.close());

const route = (to: string, change: Partial<Route> = {}): Route => ({
  ...{ tools: ['*'], agents: ['*'], events: ['requested', 'denied'], to: [to] },
  ...change,
});
const waitMs = 30_000;
const failures = async () =>
  (await world.deliveries()).flatMap((event) => (event.type === 'NotificationFailed' ? [event.data] : []));

async function notifyThrough(config: ChannelConfig, routes: readonly Route[], people: readonly Person[] = []) {
  const channels = await openChannels({ channels: [config] }, { clock: world.clock, publicUrl: 'http://127.0.0.1:1' });
  return world.notify({ channels, routes, people: () => people });
}

it('asks in the chat of each conversation, in every round, and records why a card was not sent', async () => {
  const server = await openTelegramServer('1:b');
  const config: ChannelConfig = {
    ...{ id: 'chats', type: 'telegram', mode: 'polling', apiUrl: server.url, webhookSecret: undefined },
    ...{ botToken: new Secret('1:b'), chat: { label: 'telegramChat', allow: ['-1001', '-1002'] } },
  };
  const { notifier } = await notifyThrough(config, [route('chats', { runs: ['chat-*'] })]);
  const chatsOf = (method: string) =>
    server.calls().flatMap((call) => (call.method === method ? [call.args['chat_id']] : []));
  const labels = { telegramChat: '-1002' };
  const asked = await world.ask('a', { runId: 'chat-1', labels, expiresInMs: 60_000 });
  await world.ask('b', { runId: 'other-1', labels });
  const foreign = await world.ask('c', { runId: 'chat-2', labels: { telegramChat: '-1003' } });
  const unlabelled = await world.ask('d', { runId: 'chat-3' });
  await world.ask('e', { runId: 'chat-4', labels: { telegramChat: '-1001' } });
  await eventually(() => expect(chatsOf('sendMessage').toSorted()).toEqual(['-1001', '-1002']), waitMs);
  await eventually(async () => expect(await failures()).toHaveLength(2), waitMs);
  expect((await failures()).toSorted((one, other) => one.reason.localeCompare(other.reason))).toMatchObject([
    { approvalId: unlabelled, reason: 'not sent: the call has no label "telegramChat"', nextAttemptAt: null },
    {
      approvalId: foreign,
      reason: 'not sent: the label "telegramChat" names a place that "allow" does not list',
      nextAttemptAt: null,
    },
  ]);
  expect(notifier.status().channels['chats']).toMatchObject({ state: 'ok', givenUp: { message: 2 } });

  await world.respond(asked, 'deny');
  // The card is changed where it is, and the outcome is told there.
  await eventually(() => expect(chatsOf('editMessageText')).toEqual(['-1002']), waitMs);
  await eventually(() => expect(chatsOf('sendMessage').slice(2)).toEqual(['-1002']), waitMs);
  await server.close();
}, 90_000);

it('writes to the one mailbox that the label names, if it is that of a person who is asked', async () => {
  const server = await openMailServer();
  const allow = ['kim@example.com', 'lee@example.com', 'nobody@example.com'];
  const person = (id: string): Person => ({ id, email: `${id}@example.com`, groups: [] });
  await notifyThrough(
    { ...mailConfigOf(server.url), to: { label: 'mailTo', allow } },
    [route('mail', { events: ['requested'] })],
    [person('Kim'), person('lee'), person('ann')],
  );
  await world.ask('kim', { labels: { mailTo: 'kim@example.com' } });
  // Ann may decide, and her mailbox is none that a label may name.
  await world.ask('ann', { runId: 'run-2', labels: { mailTo: 'ann@example.com' } });
  await world.ask('nobody', { runId: 'run-3', labels: { mailTo: 'nobody@example.com' } });
  await eventually(async () => expect(await failures()).toHaveLength(2), waitMs);
  await eventually(
    async () => expect((await server.mails()).map(({ to }) => to)).toEqual([['Kim@example.com']]),
    waitMs,
  );
  expect((await failures()).map(({ reason }) => reason).toSorted()).toEqual([
    'not sent: the label "mailTo" names a place that "allow" does not list',
    'not sent: the label "mailTo" names the mailbox of no person who is asked',
  ]);
  await server.close();
}, 90_000);

it('reports no failure about the one mailbox when its person has answered already', async () => {
  await world.close();
  world = await openWorld(
    undefined,
    'version: 1\nrules: [{ id: two, match: {}, then: { require: { quorum: { approve: 2 } } } }]\n',
  );
  const server = await openMailServer();
  const to = { label: 'mailTo', allow: ['kim@example.com'] };
  const kim: Person = { id: 'kim', email: 'kim@example.com', groups: [] };
  const start = () =>
    notifyThrough({ ...mailConfigOf(server.url), to }, [route('mail', { events: ['requested'] })], [kim]);
  const { stop } = await start();
  const asked = await world.ask('a', { labels: { mailTo: 'kim@example.com' } });
  await eventually(async () => expect(await server.mails()).toHaveLength(1), waitMs);
  await world.respond(asked, 'approve', 'mail', 'kim');
  await stop();
  // A notifier that starts looks at everything that is pending.
  await start();
  const other = await world.ask('b', { runId: 'run-2' });
  await eventually(async () => expect((await failures()).map(({ approvalId }) => approvalId)).toEqual([other]), waitMs);
  await server.close();
}, 90_000);
