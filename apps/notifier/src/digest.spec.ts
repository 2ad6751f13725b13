import type { Route } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

const digestEvery = (everyMs: number): Route => ({
  tools: ['*'],
  agents: ['*'],
  events: ['requested'],
  to: ['ops'],
  digest: { every: 'period', everyMs },
});
const listed = (sent: readonly (readonly { readonly call: { readonly toolCallId: string } }[])[]) =>
  sent.map((notices) => notices.map(({ call }) => call.toolCallId).toSorted());
const waitMs = 15_000;

it('lists what is still pending in one message, and nothing at once', async () => {
  const channel = createRecordingChannel();
  // The notifier's clock stands at the beginning of a period, so that none ends while the calls are requested.
  const everyMs = 6_000;
  const byMs = everyMs - (world.clock.now() % everyMs);
  const clock = { ...world.clock, now: () => world.clock.now() + byMs };
  const { notifier } = await world.notify({ channels: [channel], routes: [digestEvery(everyMs)], clock });
  const decided = await world.ask('decided');
  await world.ask('one');
  await world.ask('two');
  await world.respond(decided, 'approve');
  await eventually(() => expect(notifier.status().planned).toBeGreaterThan(0));
  expect(channel.sent).toEqual([]);
  await eventually(() => expect(channel.sent.length).toBeGreaterThan(0), waitMs);
  expect(listed(channel.sent.slice(0, 1))).toEqual([['one', 'two']]);
  expect(channel.sent[0]?.map(({ kind }) => kind)).toEqual(['digest', 'digest']);
  expect(channel.updated).toEqual([]);
});

it('sends what would expire before the next digest at once', async () => {
  const channel = createRecordingChannel();
  // The next digest is centuries away, at whatever hour the test runs.
  await world.notify({ channels: [channel], routes: [digestEvery(1e13)] });
  await world.ask('soon');
  await eventually(() => expect(channel.sent).toHaveLength(1));
  expect(channel.sent[0]?.[0]?.kind).toBe('requested');
});

it('sends a digest that fell due while no notifier ran once, after the start, and not again after the next one', async () => {
  const channel = createRecordingChannel();
  // A digest each ten minutes: the notifier's clock stands a second before one, and later after it.
  const everyMs = 600_000;
  const slotMs = Math.ceil(world.clock.now() / everyMs) * everyMs;
  const shifted = (byMs: number) => ({ ...world.clock, now: () => world.clock.now() + byMs });
  await world.ask('one');
  await world.ask('two');
  const clock = shifted(slotMs + 60_000 - world.clock.now());
  for (let start = 0; start < 2; start += 1) {
    const running = await world.notify({ channels: [channel], routes: [digestEvery(everyMs)], clock });
    await eventually(() => expect(channel.sent).toHaveLength(1), waitMs);
    await new Promise((resolve) => setTimeout(resolve, start === 0 ? 500 : 3_500));
    await running.stop();
  }
  expect(listed(channel.sent)).toEqual([['one', 'two']]);
});

it('repeats one digest, and of it only what was not recorded, after a crash between sending and recording', async () => {
  const channel = createRecordingChannel();
  const everyMs = 600_000;
  const slotMs = Math.ceil(world.clock.now() / everyMs) * everyMs;
  const byMs = slotMs + 60_000 - world.clock.now();
  const clock = { ...world.clock, now: () => world.clock.now() + byMs };
  const [one] = [await world.ask('one'), await world.ask('two')];
  const nth = slotMs / 1000;
  // The state after a crash: one of the two approvals in the message is recorded as told.
  const data = { approvalId: one, channelId: 'ops', kind: 'digest', nth, recipient: null } as const;
  const told = { ...data, messageRef: null, shows: 'pending', deliveredAt: new Date(slotMs).toISOString() };
  const row = world.readModel.approval('default', one);
  const metadata = {
    ...{ tenant: 'default', callId: row?.call.request.callId ?? null, runId: 'run-1' },
    ...{ schemaVersion: 1, commandId: 'crashed' },
  };
  await world.store.append(`delivery-${one}`, -1, [
    { eventId: world.ids.uuid(), type: 'NotificationDelivered', data: told, metadata },
  ]);
  await world.notify({ channels: [channel], routes: [digestEvery(everyMs)], clock });
  await eventually(() => expect(channel.sent).toHaveLength(1), waitMs);
  expect(listed(channel.sent)).toEqual([['two']]);
});

it('lets one of several notifiers send the whole digest', async () => {
  const channel = createRecordingChannel();
  const options = { channels: [channel], routes: [digestEvery(4_000)] };
  await world.notify({ ...options, notifierId: 'a', group: 'notifier-a' });
  await world.notify({ ...options, notifierId: 'b', group: 'notifier-b' });
  for (let n = 0; n < 20; n += 1) await world.ask(`call-${String(n)}`);
  const firstSlot = () => {
    const all = channel.sent.filter(([notice]) => notice?.nth === channel.sent[0]?.[0]?.nth);
    return all.map((notices) => notices.length);
  };
  await eventually(() => expect(channel.sent.length).toBeGreaterThan(0), waitMs);
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(firstSlot()).toHaveLength(1);
});
