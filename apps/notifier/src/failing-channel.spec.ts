import type { Channel, Person, Route, SendResult } from '@countersign/channels';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const policy = `version: 1
approvers:
  - { id: alice, groups: [ops] }
  - { id: bob, groups: [ops] }
  - { id: mia, groups: [managers] }
rules:
  - id: quorum
    match: { tools: [deploy] }
    then: { require: { quorum: { approve: 2, deny: 1, of: [ops] }, expiresIn: 1h } }
  - id: payouts
    match: { tools: [payout] }
    then:
      require:
        anyOf: [ops]
        expiresIn: 1s
        onTimeout: escalate
        escalation:
          - { to: [managers], expiresIn: 1h }
`;
const route = (change: Partial<Route> = {}): Route => ({
  ...{ tools: ['*'], agents: ['*'], events: ['requested'], to: ['down'], ...change },
});
const failed: SendResult = { status: 'failed', reason: 'Slack answers not_in_channel' };

let world: World;
beforeEach(async () => {
  world = await openWorld(undefined, policy);
});
afterEach(async () => {
  await world.close();
});

/** A channel that fails until it is mended. */
function createBroken(change: Partial<Channel> = {}) {
  const channel = createRecordingChannel({ id: 'down', ...change });
  let isBroken = true;
  return {
    ...channel,
    send: (...given: Parameters<Channel['send']>) => (isBroken ? Promise.resolve(failed) : channel.send(...given)),
    mend: () => (isBroken = false),
  };
}

/** Waits until a channel fails: then the message has been tried. */
const untilFailing = (notifier: Awaited<ReturnType<World['notify']>>['notifier'], id = 'down') =>
  eventually(() => expect(notifier.status().channels[id]?.state).toBe('failing'));
const askedIn = ({ sent }: Pick<ReturnType<typeof createRecordingChannel>, 'sent'>) =>
  sent.flat().map(({ kind, approval }) => `${approval?.approvalId ?? ''} ${kind}`);

it('a channel that fails while a quorum waits shows the votes of meanwhile, and the later ones', async () => {
  const down = createBroken();
  const { notifier } = await world.notify({ channels: [down], routes: [route()] });
  const approvalId = await world.ask('call-1', { toolName: 'deploy' });
  await untilFailing(notifier);
  await world.respond(approvalId, 'approve', 'inbox', 'alice');
  down.mend();
  await eventually(() => expect(askedIn(down)).toEqual([`${approvalId} requested`]));
  expect(down.sent[0]?.[0]?.approval).toMatchObject({ state: 'pending', responses: [{ respondedBy: 'alice' }] });
  await world.respond(approvalId, 'approve', 'inbox', 'bob');
  await eventually(() => expect(down.updated.at(-1)?.notice.approval?.state).toBe('approved'));
});

it('an escalation to a channel that fails is sent once it works, and not when it was decided meanwhile', async () => {
  const down = createBroken();
  const fine = createRecordingChannel({ id: 'fine' });
  const routes = [route({ groups: ['ops'], to: ['fine'] }), route({ groups: ['managers'] })];
  const { notifier } = await world.notify({ channels: [down, fine], routes });
  const asked = [
    await world.ask('call-1', { toolName: 'payout' }),
    await world.ask('call-2', { toolName: 'payout', runId: 'run-2' }),
  ] as const;
  await eventually(() => expect(fine.sent).toHaveLength(2));
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  for (const approvalId of asked) await world.fireDue(approvalId);
  await untilFailing(notifier);
  await world.respond(asked[1], 'deny', 'inbox', 'alice');
  down.mend();
  await eventually(() => expect(askedIn(down)).toEqual([`${asked[0]} requested`]));
  await eventually(() => expect(notifier.status().channels['down']).toMatchObject({ state: 'ok', waiting: 0 }));
  expect(askedIn(down)).toEqual([`${asked[0]} requested`]);
});

it('a mail that waits is not sent to a person who has answered, or whose delegation has ended, meanwhile', async () => {
  const mail = (id: string, groups: readonly string[], delegatedGroups: readonly string[] = []): Person => ({
    ...{ id, email: `${id}@example.com`, groups: [...groups], delegatedGroups },
  });
  let people = [mail('alice', ['ops']), mail('bob', ['ops']), mail('cid', [], ['ops'])];
  const down = createBroken({ addressing: 'personal' });
  const { notifier } = await world.notify({ channels: [down], routes: [route()], people: () => people });
  const approvalId = await world.ask('call-1', { toolName: 'deploy' });
  await untilFailing(notifier);
  await world.respond(approvalId, 'approve', 'inbox', 'alice');
  people = people.map((person) => (person.id === 'cid' ? { ...person, delegatedGroups: [] } : person));
  down.mend();
  await eventually(() => expect(down.sent.flat().map(({ recipient }) => recipient?.id)).toEqual(['bob']));
  await eventually(() => expect(notifier.status().channels['down']).toMatchObject({ waiting: 0 }));
  expect(down.sent).toHaveLength(1);
});

it('what fell due while a channel failed is one card, and no reminder of what had not been asked', async () => {
  const down = createBroken();
  const { notifier } = await world.notify({ channels: [down], routes: [route({ reminders: [200, 400] })] });
  const approvalId = await world.ask('call-1');
  await untilFailing(notifier);
  await new Promise((resolve) => setTimeout(resolve, 500));
  down.mend();
  await eventually(() => expect(askedIn(down)).toEqual([`${approvalId} requested`]));
  await eventually(() => expect(notifier.status()).toMatchObject({ planned: 0, channels: { down: { waiting: 0 } } }));
  expect(askedIn(down)).toEqual([`${approvalId} requested`]);
});

it.each([1, 3])('a message that failed before %i restarts is sent once', async (restarts) => {
  const down = createBroken();
  for (let start = 0; start < restarts; start += 1) {
    const { notifier, stop } = await world.notify({ channels: [down], routes: [route()] });
    if (start === 0) await world.ask('call-1');
    await untilFailing(notifier);
    await stop();
  }
  down.mend();
  const { notifier } = await world.notify({ channels: [down], routes: [route()] });
  await eventually(() => expect(down.sent).toHaveLength(1), 10_000);
  await eventually(() => expect(notifier.status()).toMatchObject({ planned: 0, channels: { down: { waiting: 0 } } }));
  expect(down.sent).toHaveLength(1);
});

it('a channel that is taken out of the file while it fails is forgotten, and gets its message once it is there again', async () => {
  const down = createBroken();
  const other = createRecordingChannel({ id: 'other' });
  const first = await world.notify({ channels: [down], routes: [route()] });
  await world.ask('call-1');
  await untilFailing(first.notifier);
  await first.stop();
  const second = await world.notify({ channels: [other], routes: [route({ to: ['other'] })] });
  await eventually(() => expect(other.sent).toHaveLength(1));
  expect(Object.keys(second.notifier.status().channels)).toEqual(['other']);
  await second.stop();
  down.mend();
  await world.notify({ channels: [down, other], routes: [route({ to: ['down', 'other'] })] });
  await eventually(() => expect(down.sent).toHaveLength(1), 10_000);
  expect(other.sent).toHaveLength(1);
});

it('two notifiers of a channel that fails send each message once, and one that is refused is given up by both', async () => {
  const down = createBroken();
  const notify = (notifierId: string) =>
    world.notify({ channels: [down], routes: [route()], notifierId, group: notifierId });
  const running = [await notify('a'), await notify('b')];
  const states = () => running.map(({ notifier }) => notifier.status().channels['down']?.state);
  down.answers.push({ status: 'refused', about: 'message', reason: 'Slack answers msg_too_long' });
  await world.ask('call-1');
  await world.ask('call-2', { runId: 'run-2' });
  await eventually(() => expect(states()).toContain('failing'));
  down.mend();
  await eventually(async () => {
    const ends = (await world.deliveries()).filter(
      ({ type, data }) =>
        type === 'NotificationDelivered' ||
        (type === 'NotificationFailed' && 'nextAttemptAt' in data && data.nextAttemptAt === null),
    );
    expect(ends.map(({ type }) => type).toSorted()).toEqual(['NotificationDelivered', 'NotificationFailed']);
  });
  expect(down.sent).toHaveLength(1);
  const lost = running.map(({ notifier }) => notifier.status().channels['down']?.givenUp.message ?? 0);
  expect(lost.reduce((sum, one) => sum + one, 0)).toBe(1);
});
