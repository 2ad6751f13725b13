import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadChannels } from './load-channels.js';
import type { ChannelsConfig } from './load-channels.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-channels-'));
afterAll(() => rmSync(folder, { recursive: true }));

const load = (text: string, env: Readonly<Record<string, string>>): ChannelsConfig => {
  const file = join(folder, 'channels.yaml');
  writeFileSync(file, text);
  return loadChannels(file, env, { broken: 'off' });
};

const text = `version: 1
channels:
  - { id: ops, type: telegram, mode: polling, chat: "-1", botToken: { env: BOT } }
  - { id: files, type: telegram, mode: polling, chat: "-1", botToken: { file: ./none } }
  - { id: mail, type: email, smtp: { env: SMTP }, from: "c@example.com" }
  - { id: pager, type: webhook, url: "https://hooks.example/", secret: { env: HOOK } }
routes:
  - { to: [ops, files, mail, pager] }
`;
const sound = { BOT: '1:b', SMTP: 'smtp://u:p@h', HOOK: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' };

it('takes each channel whose secrets cannot be used out of service, says why, and keeps the others', () => {
  const { channels, broken, routes } = load(text, { ...sound, SMTP: 'https://canary@h', HOOK: '' });
  expect(channels.map(({ id }) => id)).toEqual(['ops']);
  expect(broken).toMatchObject([
    { id: 'files', type: 'telegram', reason: expect.stringContaining('channels[1].botToken: ') as unknown },
    { id: 'mail', type: 'email', reason: 'channels[2].smtp: must be a url of the form smtp://user:password@host:587' },
    { id: 'pager', type: 'webhook', reason: 'channels[3].secret: the environment variable HOOK is not set' },
  ]);
  expect(JSON.stringify(broken)).not.toContain('canary');
  expect(routes).toHaveLength(1);
});

it('refuses a file that is wrong itself, and names the secrets too', () => {
  const wrong = text.replace('"c@example.com"', '"nobody"').replace('to: [', 'to: [nowhere, ');
  const refused = (): unknown => load(wrong, { ...sound, BOT: '' });
  expect(refused).toThrow(/there is no channel "nowhere"/);
  expect(refused).toThrow(/channels\[2\]\.from/);
  expect(refused).toThrow(/the environment variable BOT is not set/);
  const isPrivate = text.replace('hooks.example', '127.0.0.1');
  expect(() => load(isPrivate, sound)).toThrow(/is in a private network/);
});
