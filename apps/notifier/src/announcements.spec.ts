import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Channel, Route, SendResult } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import type { RecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const route = (change: Partial<Route> = {}): Route => ({
  ...{ tools: ['*'], agents: ['*'], events: ['requested'], to: ['ops'], ...change },
});
const both = [route(), route({ events: ['approved', 'denied', 'expired'] })];
const failed: SendResult = { status: 'failed', reason: '503' };

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

/** Like a webhook: what was sent cannot be changed. */
function createPager(): Omit<RecordingChannel, 'update'> {
  const { update: _update, ...pager } = createRecordingChannel({ type: 'webhook' });
  return pager;
}
const told = ({ sent }: Pick<RecordingChannel, 'sent'>): readonly string[] =>
  sent.flat().map(({ call, kind }) => `${call.toolCallId} ${kind}`);

describe('a channel that announces requests and outcomes', () => {
  it('hears first of a request that was decided before it could be sent, as it was when it was requested', async () => {
    const pager = createPager();
    await (await world.notify({ channels: [pager], routes: both })).stop();
    const approvalId = await world.ask('call-1');
    await world.respond(approvalId, 'approve');
    await world.notify({ channels: [pager], routes: both });
    await eventually(() => expect(told(pager)).toEqual(['call-1 requested', 'call-1 approved']));
    expect(pager.sent.flat().map(({ approval }) => [approval?.state, approval?.responses.length])).toEqual([
      ['pending', 0],
      ['approved', 1],
    ]);
  });

  it('gets a card without buttons, where a card can be changed', async () => {
    const channel = createRecordingChannel();
    await (await world.notify({ channels: [channel], routes: both })).stop();
    await world.respond(await world.ask('call-1'), 'deny');
    await world.notify({ channels: [channel], routes: both });
    await eventually(() => expect(told(channel)).toEqual(['call-1 requested', 'call-1 denied']));
    expect(channel.sent[0]?.[0]?.approval?.state).toBe('denied');
  });

  it('hears of many that are decided at once, each in order and each once', async () => {
    const pager = createPager();
    await world.notify({ channels: [pager], routes: both });
    const calls = Array.from({ length: 15 }, (_, n) => `call-${String(n)}`);
    await Promise.all(calls.map(async (call) => world.respond(await world.ask(call, { runId: call }), 'approve')));
    await eventually(() => expect(told(pager)).toHaveLength(30), 20_000);
    for (const call of calls) {
      expect(told(pager).filter((one) => one.startsWith(`${call} `))).toEqual([
        `${call} requested`,
        `${call} approved`,
      ]);
    }
  });

  it.each([
    ['only the outcomes', [route({ events: ['approved'] })]],
    ['requests that are pending after a while', [route({ after: 60_000 }), route({ events: ['approved'] })]],
  ])('does not hear of a decided request where its routes want %s', async (_name, routes) => {
    const pager = createPager();
    await (await world.notify({ channels: [pager], routes })).stop();
    await world.respond(await world.ask('call-1'), 'approve');
    await world.notify({ channels: [pager], routes });
    await eventually(() => expect(told(pager)).toEqual(['call-1 approved']));
  });

  it.each([0, 1])(
    'hears of the end after a beginning that stepped aside, also with %i restarts in between, and nothing is lost',
    async (restarts) => {
      const clock = createVirtualClock(Date.now() + 60_000);
      const pager = createPager();
      let isPoison = true;
      const send: Channel['send'] = (notices, options) =>
        isPoison && notices[0].kind === 'requested' && notices[0].call.toolCallId === 'poison'
          ? Promise.resolve(failed)
          : pager.send(notices, options);
      const options = { channels: [{ ...pager, send }], routes: both, clock };
      let running = await world.notify(options);
      const pass = async (seconds: number): Promise<void> => {
        for (let second = 0; second < seconds; second += 1) {
          await clock.advanceAsync(1_000);
          await nextTurn();
        }
      };
      const poison = await world.ask('poison');
      await eventually(() => expect(running.notifier.status().channels['ops']?.state).toBe('failing'));
      const fine = await world.ask('fine', { runId: 'run-2' });
      await world.respond(poison, 'approve');
      await world.respond(fine, 'approve');
      await eventually(async () => {
        await pass(1);
        expect(told(pager)).toEqual(['fine requested', 'fine approved']);
      });
      for (let restart = 0; restart < restarts; restart += 1) {
        await running.stop();
        running = await world.notify(options);
      }
      await pass(20);
      expect(told(pager)).toEqual(['fine requested', 'fine approved']);
      isPoison = false;
      await eventually(async () => {
        await pass(10);
        expect(told(pager).slice(2)).toEqual(['poison requested', 'poison approved']);
      });
      await pass(120);
      expect(told(pager)).toHaveLength(4);
    },
  );

  it('hears of each once and in order, also where two notifiers see every event', async () => {
    const pager = createPager();
    for (const notifierId of ['a', 'b']) {
      await world.notify({ channels: [pager], routes: both, notifierId, group: notifierId });
    }
    const calls = Array.from({ length: 8 }, (_, n) => `call-${String(n)}`);
    await Promise.all(calls.map(async (call) => world.respond(await world.ask(call, { runId: call }), 'approve')));
    const delivered = async () => (await world.deliveries()).filter(({ type }) => type === 'NotificationDelivered');
    await eventually(async () => expect(await delivered()).toHaveLength(16), 20_000);
    expect(told(pager)).toHaveLength(16);
    for (const call of calls) {
      expect(told(pager).filter((one) => one.startsWith(`${call} `))).toEqual([
        `${call} requested`,
        `${call} approved`,
      ]);
    }
  });
});
