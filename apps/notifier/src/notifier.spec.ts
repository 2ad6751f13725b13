import { readable } from '@countersign/event-store/testing';
import type { Route } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const route = (change: Partial<Route> = {}): Route => ({
  tools: ['*'],
  agents: ['*'],
  events: ['requested'],
  to: ['ops'],
  ...change,
});

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

const recorded = async (): Promise<readonly string[]> =>
  (await world.deliveries()).map(({ type, data }) => `${type} ${'kind' in data ? data.kind : data.channelId}`);

describe('the notifier', () => {
  it('sends a card, records it, and changes it after a decision made elsewhere', async () => {
    const channel = createRecordingChannel();
    await world.notify({ channels: [channel], routes: [route()] });
    const approvalId = await world.ask('call-1');
    await eventually(async () => expect(await recorded()).toContain('NotificationDelivered requested'));
    expect(channel.sent[0]?.[0]).toMatchObject({ kind: 'requested', approval: { approvalId, state: 'pending' } });
    await world.respond(approvalId, 'approve');
    await eventually(async () => expect(await recorded()).toContain('NotificationUpdated requested'));
    expect(channel.updated[0]).toMatchObject({ messageRef: 'm1', notice: { approval: { state: 'approved' } } });
    expect(channel.sent).toHaveLength(1);
  });

  it('names the tool of the call in what it records about a message', async () => {
    await world.notify({ channels: [createRecordingChannel()], routes: [route()] });
    await world.ask('call-1');
    await eventually(async () => expect(await recorded()).toContain('NotificationDelivered requested'));
    const events = readable(await world.store.readAll(0, 1000)).filter(({ metadata }) => metadata.callId !== null);
    const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'agent' };
    expect(events.map(({ type, metadata }) => [type, metadata.tool])).toEqual(
      ['ToolCallRequested', 'ApprovalRequested', 'NotificationDelivered'].map((type) => [type, tool]),
    );
  });

  it('sends an outcome once to each channel that wants it, and none from before the channel existed', async () => {
    const early = await world.ask('early');
    await world.respond(early, 'deny');
    const channel = createRecordingChannel();
    const first = await world.notify({ channels: [channel], routes: [route({ events: ['denied'] })] });
    const approvalId = await world.ask('call-1');
    await eventually(async () => expect(await recorded()).toContain('ChannelActivated ops'), 3_000).catch(
      () => undefined,
    );
    await world.respond(approvalId, 'deny');
    await eventually(() => expect(channel.sent).toHaveLength(1));
    await first.stop();
    await world.notify({ channels: [channel], routes: [route({ events: ['denied'] })] });
    const last = await world.ask('call-2');
    await world.respond(last, 'deny');
    await eventually(() => expect(channel.sent).toHaveLength(2));
    expect(channel.sent.map(([notice]) => notice?.approval?.approvalId)).toEqual([approvalId, last]);
  });

  it('tells the person behind a request how it ended, and counts the people it does not know', async () => {
    const channel = { ...createRecordingChannel(), addressing: 'personal' as const };
    const routes = [route({ events: ['denied'], tell: 'requester' })];
    const carol = { id: 'Agent', email: 'carol@example.com', groups: [] };
    const bob = { id: 'bob', email: 'bob@example.com', groups: ['ops'] };
    const first = await world.notify({ channels: [channel], routes, people: () => [bob, carol] });
    await world.respond(await world.ask('call-1'), 'deny');
    await eventually(() => expect(channel.sent).toHaveLength(1));
    expect(channel.sent[0]?.map(({ recipient, kind }) => [recipient?.id, kind])).toEqual([['Agent', 'denied']]);
    expect(first.notifier.status().untold).toBe(0);
    await first.stop();
    const { notifier } = await world.notify({ channels: [channel], routes, people: () => [bob] });
    await world.respond(await world.ask('call-2'), 'deny');
    await eventually(() => expect(notifier.status().untold).toBe(1));
    expect(channel.sent).toHaveLength(1);
  });

  it('asks and reminds only people who may decide, and not the one behind the request', async () => {
    const channel = { ...createRecordingChannel(), addressing: 'personal' as const };
    const owner = { id: 'Agent', email: 'carol@example.com', groups: ['ops'] };
    const bob = { id: 'bob', email: 'bob@example.com', groups: ['ops'] };
    await world.notify({ channels: [channel], routes: [route({ reminders: [200] })], people: () => [bob, owner] });
    await world.ask('call-1');
    await eventually(() => expect(channel.sent.flat().map(({ kind }) => kind)).toEqual(['requested', 'reminder']));
    expect(channel.sent.flat().map(({ recipient }) => recipient?.id)).toEqual(['bob', 'bob']);
  });

  it('reminds nobody who has answered under another name, or for whom a delegate has', async () => {
    const delegates = '[{ to: dan, from: 2020-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }]';
    const policy = `version: 1
approvers: [{ id: carol, groups: [ops], delegates: ${delegates} }, { id: dan }]
rules: [{ id: all, then: { require: { quorum: { approve: 3, of: [ops] } } } }]`;
    const strict = await openWorld(undefined, policy);
    try {
      const channel = { ...createRecordingChannel(), addressing: 'personal' as const };
      const mail = (id: string) => ({ id, email: `${id}@example.com`, groups: ['ops'] });
      const people = [{ ...mail('alice'), slack: 'T1:U1' }, mail('carol'), mail('bob')];
      await strict.notify({ channels: [channel], routes: [route({ reminders: [600] })], people: () => people });
      const approvalId = await strict.ask('call-1');
      await eventually(() => expect(channel.sent.flat()).toHaveLength(3));
      await strict.respond(approvalId, 'approve', 'inbox', 'slack:T1:U1');
      await strict.respond(approvalId, 'approve', 'inbox', 'dan', []);
      await eventually(() => expect(channel.sent.flat()).toHaveLength(4));
      await new Promise((resolve) => setTimeout(resolve, 100));
      const reminded = channel.sent.flat().filter(({ kind }) => kind === 'reminder');
      expect(reminded.map(({ recipient }) => recipient?.id)).toEqual(['bob']);
    } finally {
      await strict.close();
    }
  });

  it('sends nothing twice after a restart, and forgets nothing', async () => {
    const channel = createRecordingChannel();
    const first = await world.notify({ channels: [channel], routes: [route()] });
    await world.ask('call-1');
    await eventually(() => expect(channel.sent).toHaveLength(1));
    await first.stop();
    await world.ask('call-2', { runId: 'run-2' });
    await world.notify({ channels: [channel], routes: [route()] });
    await eventually(() => expect(channel.sent).toHaveLength(2));
    await world.ask('call-3', { runId: 'run-3' });
    await eventually(() => expect(channel.sent).toHaveLength(3));
    expect(new Set(channel.sent.map(([notice]) => notice?.messageId)).size).toBe(3);
  });

  it('asks later only what is still pending, and reminds; both survive a restart', async () => {
    const channel = createRecordingChannel();
    const routes = [route({ after: 400, reminders: [900] })];
    const first = await world.notify({ channels: [channel], routes });
    const decided = await world.ask('decided');
    await world.respond(decided, 'approve');
    const waiting = await world.ask('waiting', { runId: 'run-2' });
    await first.stop();
    expect(channel.sent).toHaveLength(0);
    await world.notify({ channels: [channel], routes });
    await eventually(() => expect(channel.sent).toHaveLength(2));
    expect(channel.sent.map(([notice]) => [notice?.kind, notice?.approval?.approvalId])).toEqual([
      ['requested', waiting],
      ['reminder', waiting],
    ]);
  });

  it('tries again after a failure, honours the pause it is asked for, and keeps the other channels going', async () => {
    const hanging = createRecordingChannel({ id: 'hanging' });
    let release = (): void => undefined;
    hanging.answers.push(
      new Promise((resolve) => (release = () => resolve({ status: 'delivered', messageRef: null }))),
    );
    const limited = createRecordingChannel({ id: 'limited' });
    limited.answers.push({ status: 'failed', reason: '429', retryAfterMs: 300 });
    const fine = createRecordingChannel({ id: 'fine' });
    await world.notify({ channels: [hanging, limited, fine], routes: [route({ to: ['hanging', 'limited', 'fine'] })] });
    const from = performance.now();
    await world.ask('call-1');
    await eventually(() => expect(fine.sent).toHaveLength(1));
    await eventually(() => expect(limited.sent).toHaveLength(1));
    expect(performance.now() - from).toBeGreaterThanOrEqual(295);
    expect(hanging.sent).toHaveLength(0);
    release();
    await eventually(() => expect(hanging.sent).toHaveLength(1));
    expect(await recorded()).toContain('NotificationFailed requested');
  });

  it('lets a message that always fails step aside, and plans its next try', async () => {
    const channel = createRecordingChannel();
    for (let tries = 0; tries < 3; tries += 1) channel.answers.push({ status: 'failed', reason: '500' });
    const { notifier } = await world.notify({ channels: [channel], routes: [route()] });
    await world.ask('poison');
    await world.ask('fine', { runId: 'run-2' });
    await eventually(() => expect(channel.sent).toHaveLength(1), 10_000);
    expect(channel.sent[0]?.[0]?.call.toolCallId).toBe('fine');
    expect(notifier.status().planned).toBe(1);
    const failures = (await world.deliveries()).filter(({ type }) => type === 'NotificationFailed');
    expect(failures.at(-1)).toMatchObject({ data: { nextAttemptAt: expect.any(String) as string } });
  });

  it('switches a channel off that wants no more, and says so', async () => {
    const channel = createRecordingChannel();
    channel.answers.push({ status: 'off', reason: '410' });
    const { notifier } = await world.notify({ channels: [channel], routes: [route()] });
    await world.ask('call-1');
    await eventually(() => expect(notifier.status().channels['ops']?.state).toBe('off'));
    await world.ask('call-2', { runId: 'run-2' });
    await eventually(() => expect(notifier.status().channels['ops']?.waiting).toBe(0));
    expect(channel.sent).toHaveLength(0);
  });

  it('keeps it off after a restart, until its address is changed', async () => {
    const channel = createRecordingChannel({ endpoint: 'old' });
    channel.answers.push({ status: 'off', reason: '410' });
    const first = await world.notify({ channels: [channel], routes: [route()] });
    await world.ask('call-1');
    await eventually(() => expect(first.notifier.status().channels['ops']?.state).toBe('off'));
    await first.stop();
    const second = await world.notify({ channels: [channel], routes: [route()] });
    await eventually(() =>
      expect(second.notifier.status().channels['ops']).toMatchObject({ state: 'off', reason: '410' }),
    );
    await world.ask('call-2', { runId: 'run-2' });
    await eventually(() => expect(second.notifier.status().channels['ops']?.waiting).toBe(0));
    await second.stop();
    expect(channel.sent).toHaveLength(0);
    const moved = createRecordingChannel({ endpoint: 'new' });
    await world.notify({ channels: [moved], routes: [route()] });
    await world.ask('call-3', { runId: 'run-3' });
    await eventually(() => expect(moved.sent.length).toBeGreaterThan(0));
  });

  it('sends each card once, even where two notifiers see every event', async () => {
    const channel = createRecordingChannel();
    for (const notifierId of ['a', 'b'])
      await world.notify({ channels: [channel], routes: [route()], notifierId, group: notifierId });
    const calls = Array.from({ length: 20 }, (_, n) => `call-${String(n)}`);
    const asked = await Promise.all(calls.map((call) => world.ask(call, { runId: call })));
    await eventually(async () => {
      expect((await recorded()).filter((one) => one.startsWith('NotificationDelivered'))).toHaveLength(20);
    });
    await Promise.all(asked.map((approvalId) => world.respond(approvalId, 'deny')));
    await eventually(() => expect(channel.updated.length).toBeGreaterThanOrEqual(20));
    expect(channel.sent).toHaveLength(20);
    expect(new Set(channel.sent.map(([notice]) => notice?.messageId)).size).toBe(20);
  });

  it('masks sensitive values in everything that a channel is given', async () => {
    const channel = createRecordingChannel();
    await world.notify({ channels: [channel], routes: [route()] });
    await world.ask('call-1', { arguments: { password: 'canary-7f3a', path: '/x' } });
    await eventually(() => expect(channel.sent).toHaveLength(1));
    expect(JSON.stringify([channel.sent, world.log.entries, await world.deliveries()])).not.toContain('canary-7f3a');
  });
});
