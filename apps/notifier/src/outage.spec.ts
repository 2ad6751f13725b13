import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Route, SendResult } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import type { RecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const minute = 60_000;
const route: Route = { tools: ['*'], agents: ['*'], events: ['requested'], to: ['down', 'limited', 'fine'] };

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

/** A channel that returns failures while it is broken, and counts the tries meanwhile. */
function breaking(id: string, failure: () => SendResult | undefined): RecordingChannel & { tries: () => number } {
  const channel = createRecordingChannel({ id });
  let tries = 0;
  return {
    ...channel,
    tries: () => tries,
    send: (...given) => {
      const failed = failure();
      if (failed === undefined) return channel.send(...given);
      tries += 1;
      return Promise.resolve(failed);
    },
  };
}

it.each([0, -1, NaN, 1])(
  'a channel that asks for a retry after %d ms gets one with growing pauses, and the log has one failure',
  async (retryAfterMs) => {
    const clock = createVirtualClock(Date.now() + minute);
    const limited = breaking('limited', () => ({ status: 'failed', reason: '503', retryAfterMs }));
    const { notifier } = await world.notify({ channels: [limited], routes: [{ ...route, to: ['limited'] }], clock });
    await world.ask('call-1');
    await eventually(() => expect(limited.tries()).toBe(1));
    for (let second = 0; second < 2 * 60; second += 1) {
      await clock.advanceAsync(1_000);
      await nextTurn();
    }
    // After 1, 2, 4, 8, 16 and then 30 s.
    expect(limited.tries()).toBeLessThanOrEqual(9);
    expect(limited.tries()).toBeGreaterThan(5);
    const failures = (await world.deliveries()).filter(({ type }) => type === 'NotificationFailed');
    expect(failures).toHaveLength(1);
    expect(notifier.status().channels['limited']).toMatchObject({ state: 'failing', reason: '503' });
  },
);

it('a channel that is down for ten minutes, one with a rate limit and a healthy one get every message, and none delays another', async () => {
  // The clock is ahead of the ledger's, so the recorded messages are due already.
  const clock = createVirtualClock(Date.now() + minute);
  const from = clock.now();
  const age = (): number => clock.now() - from;
  const down = breaking('down', () => (age() < 10 * minute ? { status: 'failed', reason: '503' } : undefined));
  const limited = breaking('limited', () =>
    age() < 5 * minute ? { status: 'failed', reason: '429', retryAfterMs: 5 * minute - age() } : undefined,
  );
  const fine = createRecordingChannel({ id: 'fine' });
  const { notifier } = await world.notify({ channels: [down, limited, fine], routes: [route], clock });
  for (let n = 0; n < 30; n += 1) await world.ask(`call-${String(n)}`, { runId: `run-${String(n)}` });
  // No virtual time has passed.
  await eventually(() => expect(fine.sent).toHaveLength(30));
  await eventually(() => expect(down.tries()).toBeGreaterThan(0));
  expect([down.sent.length, limited.sent.length, age()]).toEqual([0, 0, 0]);
  for (let second = 0; second < 6 * 60; second += 1) await clock.advanceAsync(1_000);
  await eventually(() => expect(limited.sent).toHaveLength(30));
  expect(limited.tries()).toBe(1);
  expect(down.sent).toHaveLength(0);
  expect(notifier.status().channels['down']).toMatchObject({ state: 'failing', reason: '503' });
  // At most one try per 30 s once it is down: no retry storm, however many messages wait.
  expect(down.tries()).toBeLessThan(40);
  await eventually(async () => {
    await clock.advanceAsync(10_000);
    await nextTurn();
    expect(down.sent).toHaveLength(30);
  });
  expect(new Set(down.sent.map(([notice]) => notice?.messageId)).size).toBe(30);
  await eventually(() => expect(notifier.status().channels['down']).toMatchObject({ state: 'ok', waiting: 0 }));
  expect(down.sent).toHaveLength(30);
});

/** Virtual time in steps of a second, until a condition holds. Returns the time that it took. */
async function timeUntil(clock: ReturnType<typeof createVirtualClock>, holds: () => boolean): Promise<number> {
  const from = clock.now();
  await eventually(async () => {
    for (let second = 0; second < 10 && !holds(); second += 1) {
      await clock.advanceAsync(1_000);
      await nextTurn();
    }
    expect(holds()).toBe(true);
  });
  return clock.now() - from;
}

it('messages that a channel never takes hold up no other for long, however many there are', async () => {
  const clock = createVirtualClock(Date.now() + minute);
  const channel = createRecordingChannel({ id: 'ops' });
  const send: RecordingChannel['send'] = (notices, options) =>
    notices[0].call.toolCallId.startsWith('bad')
      ? Promise.resolve({ status: 'failed', reason: '403' })
      : channel.send(notices, options);
  await world.notify({ channels: [{ ...channel, send }], routes: [{ ...route, to: ['ops'] }], clock });
  for (const name of ['bad-1', 'bad-2', 'bad-3', 'fine']) await world.ask(name, { runId: name });
  expect(await timeUntil(clock, () => channel.sent.length === 1)).toBeLessThan(5 * minute);
  await world.ask('later', { runId: 'later' });
  expect(await timeUntil(clock, () => channel.sent.length === 2)).toBeLessThan(2 * minute);
});

it('a channel that is down for a day gets its messages within a minute once it works, and the log is not filled', async () => {
  const clock = createVirtualClock(Date.now() + minute);
  let isDown = true;
  const down = breaking('down', () => (isDown ? { status: 'failed', reason: '503' } : undefined));
  await world.notify({ channels: [down], routes: [{ ...route, to: ['down'] }], clock });
  for (let n = 0; n < 4; n += 1) await world.ask(`call-${String(n)}`, { runId: `run-${String(n)}` });
  await eventually(() => expect(down.tries()).toBe(1));
  for (let step = 0; step < 24 * 60 * 2; step += 1) {
    await clock.advanceAsync(30_000);
    await nextTurn();
  }
  const failures = (await world.deliveries()).filter(({ type }) => type === 'NotificationFailed');
  expect(failures.length).toBeLessThan(20);
  expect(down.tries()).toBeGreaterThan(1_000);
  isDown = false;
  expect(await timeUntil(clock, () => down.sent.length === 4)).toBeLessThanOrEqual(minute);
});
