import { setImmediate as nextTurn } from 'node:timers/promises';
import { endpointOf, noChannels } from '@countersign/channels';
import type { ChannelConfig } from '@countersign/channels';
import { channelStream } from '@countersign/contracts';
import { Secret } from '@countersign/runtime';
import { Registry } from 'prom-client';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { observeChannels } from './channel-metrics.js';

const pagerAt = (url: string): ChannelConfig => ({
  ...{ id: 'pager', type: 'webhook', url, allowPrivateNetwork: true },
  secret: new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'),
});
const old = 'https://old.example/';

let world: World;
afterEach(() => world.close());

beforeEach(async () => {
  const channels = { ...noChannels, channels: [pagerAt(old)] };
  world = await openWorld({ change: (ports) => ({ ...ports, channels }) });
});
const stateOfPager = async (registry = world.ports.metrics.registry): Promise<string | undefined> => {
  const text = await registry.metrics();
  return /^countersign_channel_recorded\{channel="pager",state="(\w+)"\} 1$/m.exec(text)?.[1];
};

/** Records an event like a notifier in another process. */
async function record(type: string, data: object, stream = channelStream('pager')): Promise<void> {
  const { length } = await world.store.readStream(stream);
  const metadata = { commandId: type, schemaVersion: 1, tenant: 'default', callId: null, runId: null };
  const eventId = world.ports.ids.uuid();
  const event = { eventId, type, data: { channelId: 'pager', ...data }, metadata } as unknown;
  const appended = await world.store.append(stream, length - 1, [event as never]);
  expect(appended.status).toBe('committed');
  await world.readModel.reached(await world.store.head());
}

it('a gateway shows the state of each channel as soon as its read model has it, also when another process recorded it', async () => {
  expect(await stateOfPager()).toBe('unserved');
  const at = '2030-01-01T00:00:00.000Z';
  await record('ChannelActivated', { activatedAt: at });
  expect(await stateOfPager()).toBe('on');
  await record('ChannelSwitchedOff', { endpoint: 'of another address', reason: '410', switchedOffAt: at });
  expect(await stateOfPager()).toBe('on');
  await record('ChannelSwitchedOff', { endpoint: endpointOf(pagerAt(old)), reason: '410', switchedOffAt: at });
  expect(await stateOfPager()).toBe('off');
});

it('a channel that the store cannot tell of has no figure, until it can', async () => {
  const { readStream } = world.store;
  Object.assign(world.store, { readStream: () => Promise.reject(new Error('away')) });
  expect(await stateOfPager()).toBeUndefined();
  Object.assign(world.store, { readStream });
  expect(await stateOfPager()).toBe('unserved');
});

const at = '2030-01-01T00:00:00.000Z';
const message = { approvalId: null, kind: 'blocked', nth: 0, recipient: null };
const delivery = (type: string, data: object): Promise<void> => record(type, { ...message, ...data }, 'delivery-tc_1');
const fail = (nextAttemptAt: string | null): Promise<void> =>
  delivery('NotificationFailed', { attempt: 1, reason: '503', nextAttemptAt, failedAt: at });

it('a gateway that starts again shows a channel whose last message failed before', async () => {
  await record('ChannelActivated', { activatedAt: at });
  await delivery('NotificationDelivered', { messageRef: null, shows: 's', deliveredAt: at });
  await fail(at);
  await fail(null);
  const metrics = { ...world.ports.metrics, registry: new Registry() };
  const stop = observeChannels({ ...world.ports, metrics }, [pagerAt(old)]);
  while ((await stateOfPager(metrics.registry)) !== 'failing') await nextTurn();
  stop();
});

it('a gateway shows that the last message to a channel failed, until one is delivered', async () => {
  await record('ChannelActivated', { activatedAt: at });
  await fail(null);
  expect(await stateOfPager()).toBe('on');
  await fail(at);
  expect(await stateOfPager()).toBe('failing');
  await delivery('NotificationDelivered', { messageRef: null, shows: 's', deliveredAt: at });
  expect(await stateOfPager()).toBe('on');
});
