import type { Route, SendResult } from '@countersign/channels';
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

/** `COUNTERSIGN_TEST_WAITING=10000` for the long run. */
const waiting = Number(process.env['COUNTERSIGN_TEST_WAITING'] ?? '1000');

it('holds few of many messages in memory while a channel is down, and delivers each once when it is back', async () => {
  const channel = createRecordingChannel();
  let isDown = true;
  const send = channel.send;
  const failing: SendResult = { status: 'failed', reason: 'down' };
  const flaky = {
    ...channel,
    send: (...given: Parameters<typeof send>) => (isDown ? Promise.resolve(failing) : send(...given)),
  };
  const route: Route = { tools: ['*'], agents: ['*'], events: ['requested'], to: ['ops'] };
  const { notifier } = await world.notify({ channels: [flaky], routes: [route] });
  for (let from = 0; from < waiting; from += 100) {
    const calls = Array.from({ length: Math.min(100, waiting - from) }, (_, n) => `call-${String(from + n)}`);
    await Promise.all(calls.map((call) => world.ask(call, { runId: call })));
  }
  // The number of handlers that run at once, plus a retry or two.
  expect(notifier.status().channels['ops']?.waiting).toBeLessThanOrEqual(40);
  expect((await world.deliveries()).length).toBeLessThan(20);
  isDown = false;
  await eventually(() => expect(channel.sent.length).toBeGreaterThanOrEqual(waiting), 120_000);
  expect(new Set(channel.sent.map(([notice]) => notice?.messageId)).size).toBe(waiting);
  expect(channel.sent).toHaveLength(waiting);
});
