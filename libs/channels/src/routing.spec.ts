import type { Route } from './config/channels-file.js';
import { channelsToTell } from './routing.js';
import type { Routed } from './routing.js';

const route = (change: Partial<Route>): Route => ({
  tools: ['*'],
  agents: ['*'],
  events: ['requested'],
  to: ['slack'],
  ...change,
});
const about: Routed = {
  ...{ toolName: 'delete_file', agentId: 'billing-1', runId: 'chat-7', labels: { env: 'prod', chat: '' } },
  ...{ groups: ['ops'], risk: 'low' },
};

it.each<[string, Partial<Route>, Partial<Route>]>([
  ['a tool', { tools: ['delete_*'] }, { tools: ['read_*'] }],
  ['an agent', { agents: ['billing-*'] }, { agents: ['sales-*'] }],
  ['a group that may answer', { groups: ['ops', 'hr'] }, { groups: ['hr'] }],
  ['a risk', { risk: ['low', 'medium'] }, { risk: ['high'] }],
  ['a run', { runs: ['mail-*', 'chat-*'] }, { runs: ['mail-*'] }],
  ['a label', { labels: { env: 'pro*' } }, { labels: { env: 'test' } }],
  ['an empty label', { labels: { chat: '*' } }, { labels: { other: '*' } }],
  ['all labels', { labels: { env: 'prod', chat: '' } }, { labels: { env: 'prod', chat: '?' } }],
  ['no label that objects have anyway', {}, { labels: { constructor: '*' } }],
  ['an event', { events: ['requested'] }, { events: ['denied'] }],
])('a route is picked by %s', (_by, fits, fails) => {
  expect(channelsToTell([route(fits)], about, 'requested')).toHaveLength(1);
  expect(channelsToTell([route(fails)], about, 'requested')).toEqual([]);
});

it('a route with groups matches approvals that any approver may answer, and none without a request for approval', () => {
  const routes = [route({ groups: ['hr'], events: ['requested', 'blocked'] })];
  expect(channelsToTell(routes, { ...about, groups: null }, 'requested')).toHaveLength(1);
  expect(channelsToTell(routes, { ...about, groups: undefined }, 'blocked')).toEqual([]);
});

it('a channel that several routes lead to hears once: as soon as one of them says, with every reminder, for all their groups', () => {
  const routes = [
    route({ after: 60_000, reminders: [3_000, 1_000], groups: ['ops'] }),
    route({ after: 30_000, reminders: [2_000, 1_000], groups: ['ops', 'hr'], to: ['slack', 'mail'] }),
  ];
  expect(channelsToTell(routes, about, 'requested')).toEqual([
    {
      channelId: 'slack',
      afterMs: 30_000,
      remindersMs: [1_000, 2_000, 3_000],
      groups: ['ops', 'hr'],
      digest: null,
      audience: 'approvers',
    },
    {
      channelId: 'mail',
      afterMs: 30_000,
      remindersMs: [1_000, 2_000],
      groups: ['ops', 'hr'],
      digest: null,
      audience: 'approvers',
    },
  ]);
  expect(channelsToTell([...routes, route({})], about, 'requested')[0]).toMatchObject({ afterMs: 0, groups: null });
});

it('a route with a risk picks nothing whose rule names no risk', () => {
  expect(channelsToTell([route({ risk: ['low', 'medium', 'high'] })], { ...about, risk: null }, 'requested')).toEqual(
    [],
  );
});

it('the person behind a request is an audience of its own: a route for them widens no route for approvers', () => {
  const routes = [
    route({ events: ['denied'], groups: ['hr'], to: ['mail'] }),
    route({ events: ['denied'], tell: 'requester', to: ['mail'] }),
  ];
  const told = channelsToTell(routes, { ...about, groups: null }, 'denied');
  expect(told.map(({ audience, groups }) => [audience, groups])).toEqual([
    ['approvers', ['hr']],
    ['requester', null],
  ]);
});

it('a channel gets a digest only where no route wants its message at once, and the one that comes more often', () => {
  const hourly = { every: 'period', everyMs: 3_600_000 } as const;
  const daily = { every: 'day', at: '08:00', zone: 'UTC' } as const;
  const digestOf = (...routes: Route[]) => channelsToTell(routes, about, 'requested')[0]?.digest;
  expect(digestOf(route({ digest: daily }), route({ digest: hourly }))).toEqual(hourly);
  expect(digestOf(route({ digest: hourly }), route({ digest: daily }))).toEqual(hourly);
  expect(digestOf(route({ digest: daily }), route({}))).toBeNull();
});
