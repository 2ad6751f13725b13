import { setTimeout as delay } from 'node:timers/promises';
import type { Person, Route } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const policy = `version: 1
rules: [{ id: all, then: { require: { stages: [{ anyOf: [support] }, { anyOf: [security] }] } } }]`;
const route: Route = { tools: ['*'], agents: ['*'], events: ['requested'], to: ['ops'] };
const mail = (id: string, ...groups: string[]): Person => ({ id, email: `${id}@example.com`, groups });
const people = [mail('bob', 'support'), mail('carol', 'security')];

let world: World;
beforeEach(async () => {
  world = await openWorld(undefined, policy);
});
afterEach(async () => {
  await world.close();
});

async function notify(change: Partial<Route> = {}, known: readonly Person[] = people) {
  const channel = createRecordingChannel({ addressing: 'personal' });
  const routes = [{ ...route, ...change }];
  const start = async () => world.notify({ channels: [channel], routes, people: () => known });
  const told = (): readonly string[] => channel.sent.flat().map(({ kind, recipient }) => `${recipient?.id} ${kind}`);
  return { running: await start(), start, told };
}

describe('a question with stages', () => {
  it('asks the people of a stage when it is their turn, each once, and reminds nobody of a time before it', async () => {
    const { told } = await notify({ reminders: [1] });
    const approvalId = await world.ask('call-1');
    await eventually(() => expect(told()).toEqual(['bob requested']));
    await delay(100);
    expect(told()).toEqual(['bob requested']);
    await world.respond(approvalId, 'approve', 'inbox', 'bob', ['support']);
    await eventually(() => expect(told()).toEqual(['bob requested', 'carol requested']));
    await world.respond(approvalId, 'approve', 'inbox', 'carol', ['security']);
    await delay(100);
    expect(told()).toHaveLength(2);
  });

  it('asks them also where their turn came while no notifier ran', async () => {
    const { running, start, told } = await notify();
    const approvalId = await world.ask('call-1');
    await eventually(() => expect(told()).toEqual(['bob requested']));
    await running.stop();
    await world.respond(approvalId, 'approve', 'inbox', 'bob', ['support']);
    await start();
    await eventually(() => expect(told()).toEqual(['bob requested', 'carol requested']));
  });

  it('reaches the route of a later stage', async () => {
    const { told } = await notify({ groups: ['security'] });
    const approvalId = await world.ask('call-1');
    await world.respond(approvalId, 'approve', 'inbox', 'bob', ['support']);
    await eventually(() => expect(told()).toEqual(['carol requested']));
  });

  it('lists in a digest what is in the turn of its reader then', async () => {
    const everyMs = 6_000;
    const byMs = everyMs - (world.clock.now() % everyMs);
    const clock = { ...world.clock, now: () => world.clock.now() + byMs };
    const channel = createRecordingChannel({ addressing: 'personal' });
    const routes: Route[] = [{ ...route, digest: { every: 'period', everyMs } }];
    const { notifier } = await world.notify({ channels: [channel], routes, clock, people: () => people });
    const one = await world.ask('one');
    await world.ask('two', { runId: 'run-2' });
    await eventually(() => expect(notifier.status().planned).toBe(2));
    await world.respond(one, 'approve', 'inbox', 'bob', ['support']);
    const first = (id: string) =>
      channel.sent.find(([notice]) => notice?.recipient?.id === id)?.map(({ call }) => call.toolCallId);
    await eventually(() => expect([first('bob'), first('carol')]).toEqual([['two'], ['one']]), 15_000);
  });

  it('asks nobody whose answers are refused because they are no approver', async () => {
    const { told } = await notify({}, [{ ...mail('ghost', 'support'), isApprover: false }, ...people]);
    await world.ask('call-1');
    await eventually(() => expect(told()).toContain('bob requested'));
    await delay(100);
    expect(told()).toEqual(['bob requested']);
  });
});
