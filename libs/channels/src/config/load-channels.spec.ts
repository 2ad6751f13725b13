import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ChannelsFileError, loadChannels } from './load-channels.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-channels-'));
afterAll(() => rmSync(folder, { recursive: true }));

const env = {
  SLACK_BOT_TOKEN: 'xoxb-canary',
  SLACK_SIGNING_SECRET: 'canary-signing',
  SLACK_APP_TOKEN: 'xapp-canary',
  TELEGRAM_BOT_TOKEN: '1:canary',
  TELEGRAM_SECRET: 'canary-telegram',
  SMTP_URL: 'smtp://u:canary@localhost:2525',
  HOOK_SECRET: 'whsec_Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5Y2FuYXJ5',
};
const load = (text: string) => {
  const file = join(folder, 'channels.yaml');
  writeFileSync(file, text);
  return loadChannels(file, env);
};
const problemsOf = (text: string): readonly string[] => {
  try {
    load(text);
    return [];
  } catch (error) {
    if (!(error instanceof ChannelsFileError)) throw error;
    return error.problems.map(({ path, problem }) => `${path}: ${problem}`);
  }
};

const whole = `
version: 1
people:
  - { id: alice, slack: "T01:U01", telegram: "4711", email: "alice@example.com", groups: [ops] }
channels:
  - { id: ops-slack, type: slack, channel: C0123, botToken: { env: SLACK_BOT_TOKEN }, signingSecret: { env: SLACK_SIGNING_SECRET }, apiUrl: "https://slack.com/api" }
  - { id: ops-telegram, type: telegram, mode: webhook, chat: "-100123", botToken: { env: TELEGRAM_BOT_TOKEN }, webhookSecret: { env: TELEGRAM_SECRET }, apiUrl: "https://api.telegram.org" }
  - { id: mail, type: email, smtp: { env: SMTP_URL }, from: "Countersign <approvals@example.com>" }
  - { id: pager, type: webhook, url: "https://hooks.example/countersign", secret: { env: HOOK_SECRET }, allowPrivateNetwork: false }
routes:
  - { tools: ["*"], groups: [ops], to: [ops-slack, ops-telegram] }
  - { tools: ["*"], to: [mail], after: 5m }
  - { tools: ["delete_*"], to: [mail], reminders: [30m, 2h] }
  - { events: [denied, expired, failed, unknown, succeeded], to: [pager] }
`;

it('reads a whole file, secrets included, and prints none of them', () => {
  const config = load(whole);
  expect(config.channels.map(({ id, type }) => `${id} ${type}`)).toEqual([
    'ops-slack slack',
    'ops-telegram telegram',
    'mail email',
    'pager webhook',
  ]);
  expect(config.routes.map(({ after, reminders }) => [after, reminders])).toEqual([
    [undefined, undefined],
    [300_000, undefined],
    [undefined, [1_800_000, 7_200_000]],
    [undefined, undefined],
  ]);
  expect(JSON.stringify(config)).not.toContain('canary');
});

it('refuses aliases that stand for a flood of copies', () => {
  const text =
    'a: &a [x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\nc: [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b, *b]';
  expect(problemsOf(text)).toEqual([': its aliases stand for more than 100 copies']);
});

it('names what else is wrong in a part that is not valid, and in a file with an unknown setting', () => {
  expect(
    problemsOf(`
version: 2
colour: red
people: none
channels:
  - { id: inbox, type: webhook, url: "https://hooks.example/", secret: { env: MISSING } }
  - { id: t, type: telegram, chat: "1", botToken: { file: ./none } }
routes: [{ to: [ghost], after: soon }]
`),
  ).toEqual([
    'version: must be 1',
    'people: must be a list, not text',
    'colour: is not a known setting',
    'channels[0].id: is the name of a built-in channel',
    'channels[1].webhookSecret: is needed with mode: webhook',
    'routes[0].after: "soon" is not a duration: write 30s, 10m, 2h or 3d',
    'routes[0].to[0]: there is no channel "ghost"',
    'channels[0].secret: the environment variable MISSING is not set',
    expect.stringMatching(/^channels\[1\]\.botToken: file not found: .*none\. Create it/),
  ]);
});

it('names everything that is wrong, at once and with its place', () => {
  expect(
    problemsOf(`
version: 1
people: [{ id: a, slack: "T:U", email: A@x.de }, { id: b, slack: "T:U", email: "a@x.de" }, { id: c, telegramm: "1" }]
channels:
  - { id: inbox, type: webhook, url: "http://127.0.0.1/", secret: { env: MISSING } }
  - { id: s, type: slack, channel: C1, botToken: xoxb-in-place, signingSecret: { file: ./none } }
  - { id: t, type: telegram, chat: "1", botToken: { env: TELEGRAM_BOT_TOKEN } }
  - { id: w, type: webhook, url: "https://10.0.0.1/", secret: { env: MISSING } }
  - { id: p, type: pigeon }
routes: [{ to: [nobody], after: soon }, { to: [w, ghost] }, { events: [denied], to: [w], after: 5m }, { tell: requester, to: [w], risk: [some] }, { events: [denied], tell: requester, to: [w] }]
`),
  ).toEqual([
    'channels[0].id: is the name of a built-in channel',
    'channels[0].url: must be https; http needs allowPrivateNetwork: true',
    'channels[1].botToken: must be { env: NAME } or { file: PATH }: a secret is never written in place',
    'channels[2].webhookSecret: is needed with mode: webhook',
    'channels[4].type: must have a type: slack, telegram, teams, email or webhook',
    'people[2].telegramm: is not a known setting',
    'routes[0].after: "soon" is not a duration: write 30s, 10m, 2h or 3d',
    'routes[2].after: is only for a route whose events have "requested"',
    'routes[3].risk[0]: must be "low", "medium" or "high"',
    'people[1].slack: is that of people[0] too',
    'people[1].email: is that of people[0] too',
    'routes[0].to[0]: there is no channel "nobody"',
    'routes[1].to[1]: there is no channel "ghost"',
    'routes[3].to[0]: `tell: requester` needs a channel of type email: the others show a message to everybody',
    'routes[4].to[0]: `tell: requester` needs a channel of type email: the others show a message to everybody',
    'channels[3].url: is in a private network: that needs allowPrivateNetwork: true',
    'channels[0].secret: the environment variable MISSING is not set',
    expect.stringMatching(/^channels\[1\]\.signingSecret: file not found: .*none\. Create it/),
    'channels[3].secret: the environment variable MISSING is not set',
  ]);
});

it('takes chats, channels, threads and mailboxes that a label names, and no digest for them', () => {
  const entry = (more: string) =>
    `version: 1\nchannels:\n  - { id: t, botToken: { env: TELEGRAM_BOT_TOKEN }, ${more} }\nroutes: [{ to: [t], runs: ["chat-*"], labels: { app: desk } }]\n`;
  const chats = 'type: telegram, mode: polling, chat: { label: telegramChat, allow: ["-1001"] }';
  const slack = 'type: slack, mode: socket, appToken: { env: SLACK_APP_TOKEN }';
  expect(load(entry(chats)).channels).toMatchObject([{ chat: { label: 'telegramChat', allow: ['-1001'] } }]);
  expect(problemsOf(entry(`${slack}, channel: { label: c, allow: [C0123] }, thread: { label: t }`))).toEqual([]);
  expect(problemsOf(entry(chats).replace('to: [t]', 'to: [t], digest: hourly'))).toEqual([
    'routes[0].digest: is not for t: its place is named by a label of each call, and a digest is one message about many',
  ]);
  for (const wrong of ['["@ops"]', '[]', '[-1001]', '"-1001"', '["*"]'])
    expect(problemsOf(entry(chats.replace('["-1001"]', wrong)))).toEqual([
      expect.stringMatching(/^channels\[0\]\.chat/),
    ]);
  const mail = 'version: 1\nchannels: [{ id: m, type: email, smtp: { env: SMTP_URL }, from: "c@x.org", to: TO }]\n';
  expect(problemsOf(mail.replace('TO', '{ label: to, allow: ["kim@example.com"] }'))).toEqual([]);
  expect(problemsOf(mail.replace('TO', '"kim@example.com"'))).toEqual([expect.stringMatching(/^channels\[0\]\.to: /)]);
});

it('takes a Slack app without an address by its app token, one app a channel', () => {
  const slack = (id: string, more: string): string =>
    `  - { id: ${id}, type: slack, mode: socket, channel: C0123, botToken: { env: SLACK_BOT_TOKEN }${more} }\n`;
  const text = (...channels: string[]): string => `version: 1\nchannels:\n${channels.join('')}`;
  const token = ', appToken: { env: SLACK_APP_TOKEN }';
  expect(load(text(slack('a', token))).channels).toMatchObject([{ mode: 'socket' }]);
  expect(problemsOf(text(slack('a', '')))).toEqual(['channels[0].appToken: is needed with mode: socket']);
  expect(problemsOf(text(slack('a', token), slack('b', token)))).toEqual([
    'channels[1].appToken: is that of channels[0] too: each needs an app of its own',
  ]);
});

it('refuses a route that would ask people to answer their own request', () => {
  expect(
    problemsOf(`
version: 1
channels: [{ id: mail, type: email, smtp: { env: SMTP_URL }, from: a@example.com }]
routes: [{ tell: requester, to: [mail] }]
`),
  ).toContain('routes[0].tell: needs events that are outcomes: a person does not answer their own request');
});

const withRoutes = (routes: string) => `
version: 1
channels: [{ id: mail, type: email, smtp: { env: SMTP_URL }, from: a@example.com }]
routes: ${routes}
`;

it('reads a digest by its name, its period, or its time of day in a zone', () => {
  const { routes } = load(
    withRoutes(`
  - { risk: [low], digest: hourly, to: [mail] }
  - { digest: daily, to: [mail] }
  - { digest: { every: 6h }, to: [mail] }
  - { digest: { every: 1d, at: "07:30", zone: Europe/Paris }, to: [mail] }`),
  );
  expect(routes.map(({ digest }) => digest)).toEqual([
    { every: 'period', everyMs: 3_600_000 },
    { every: 'day', at: '08:00', zone: 'UTC' },
    { every: 'period', everyMs: 21_600_000 },
    { every: 'day', at: '07:30', zone: 'Europe/Paris' },
  ]);
});

it.each([
  ['{ digest: { every: 7h } }', 'routes[0].digest.every: must be 10m to 1d, and parts of a day: 10m, 1h, 6h or 1d'],
  ['{ digest: { every: 1h, at: "08:00" } }', 'routes[0].digest.at: is only for every: 1d'],
  [
    '{ digest: { every: 1d, zone: Mars } }',
    'routes[0].digest.zone: must be the name of a time zone such as Europe/Paris',
  ],
  ['{ digest: hourly, after: 5m }', 'routes[0].after: is not for a route with a digest'],
  ['{ digest: hourly, reminders: [5m] }', 'routes[0].reminders: is not for a route with a digest'],
  ['{ digest: hourly, risk: [low, high] }', 'routes[0].risk: is not for a route with a digest'],
  ['{ digest: hourly, events: [requested, denied] }', 'routes[0].events: is not for a route with a digest'],
  ['{ digest: weekly }', 'routes[0].digest: must be hourly, daily, or an object with `every`'],
])('refuses %s', (route, problem) => {
  expect(problemsOf(withRoutes(`[{ to: [mail], ${route.slice(1)}]`))).toContain(problem);
});

describe('a channel of Teams', () => {
  const teams = (change = '', id = 'ops-teams'): string =>
    `  - { id: ${id}, type: teams, tenant: 11111111-0000-4000-8000-000000000001, appId: 22222222-0000-4000-8000-000000000002, clientSecret: { env: HOOK_SECRET }, ${change === '' ? 'conversation: "19:a@thread.tacv2"' : change} }`;
  const file = (...channels: readonly string[]): string => `version: 1\nchannels:\n${channels.join('\n')}\n`;

  it('is sent to the public cloud of Microsoft', () => {
    expect(load(file(teams())).channels).toMatchObject([
      {
        serviceUrl: 'https://smba.trafficmanager.net/teams',
        loginUrl: 'https://login.microsoftonline.com',
        openIdUrl: 'https://login.botframework.com/v1/.well-known/openidconfiguration',
      },
    ]);
  });

  it('names a conversation, or those that a label may name', () => {
    expect(problemsOf(file(teams('conversation: { label: where, allow: ["19:a@thread.v2", "a:1x_-Y"] }')))).toEqual([]);
    for (const wrong of [
      '"ops"',
      '"19:a/../b@thread.v2"',
      '"19:a|b"',
      '"19:a;messageid=1"',
      '{ label: where, allow: ["ops"] }',
    ])
      expect(problemsOf(file(teams(`conversation: ${wrong}`)))).toEqual([
        expect.stringMatching(/^channels\[0\]\.conversation(\.allow\[0\])?: must be the id of a conversation in Teams/),
      ]);
  });

  it('has a bot of its own', () => {
    expect(problemsOf(file(teams(), teams('', 'other')))).toEqual([
      'channels[1].appId: is that of channels[0] too: each needs a bot of its own',
    ]);
  });
});
