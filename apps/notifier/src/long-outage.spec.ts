import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Route } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createVirtualClock } from '@countersign/runtime/testing';
import { noticeOf } from './notice.js';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const minute = 60_000;
const route: Route = { tools: ['*'], agents: ['*'], events: ['requested'], to: ['down'] };

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

it('a channel that is down for an hour costs a few claims, and not one for each try', async () => {
  const clock = createVirtualClock(Date.now() + minute);
  let tries = 0;
  const down = {
    ...createRecordingChannel({ id: 'down' }),
    send: () => {
      tries += 1;
      return Promise.resolve({ status: 'failed', reason: '503' } as const);
    },
  };
  await world.notify({ channels: [down], routes: [route], clock, notifierId: 'one' });
  await world.ask('call-1');
  await eventually(() => expect(tries).toBeGreaterThan(0));
  for (let second = 0; second < 3600; second += 5) {
    await clock.advanceAsync(5_000);
    await nextTurn();
  }
  await eventually(() => expect(tries).toBeGreaterThan(60));
  const claims = (await world.deliveries()).filter(({ type }) => type === 'NotificationClaimed');
  expect(claims.length).toBeGreaterThan(0);
  expect(claims.length).toBeLessThan(15);
});

it('a reminder that the policy asks for is counted from 1 for people', async () => {
  await world.ask('call-1');
  const [row] = world.readModel.run('default', 'run-1');
  if (row === undefined) throw new Error('the call was requested');
  const numberOf = (nth: number): number =>
    noticeOf(row, null, { messageId: 'm', kind: 'reminder', nth, recipient: null }).nth;
  expect([1, 20, 101, 102].map(numberOf)).toEqual([1, 20, 1, 2]);
  expect(noticeOf(row, null, { messageId: 'm', kind: 'digest', nth: 1_795_336_200, recipient: null }).nth).toBe(
    1_795_336_200,
  );
});
