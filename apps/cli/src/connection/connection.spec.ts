import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { findConnection, findWorkerConnection, inboxUrlOf } from './connection.js';

function dataFolder(tokens: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-test-'));
  writeFileSync(join(folder, 'tokens.json'), tokens);
  return folder;
}

const tokens = JSON.stringify([
  { token: 'agent-token', principal: 'agent', roles: ['agent'] },
  { tokenSha256: 'ab', principal: 'me', roles: ['approver'] },
  { token: 'my-token', principal: 'me', roles: ['approver', 'auditor', 'admin'] },
]);

describe('where the server is', () => {
  it.each([
    ['this machine by default', {}, {}, 'http://127.0.0.1:7400'],
    ['this machine at another port', {}, { COUNTERSIGN_PORT: '8080' }, 'http://127.0.0.1:8080'],
    ['COUNTERSIGN_URL', {}, { COUNTERSIGN_URL: 'https://c.example/', COUNTERSIGN_PORT: '1' }, 'https://c.example'],
    [
      '--url before COUNTERSIGN_URL',
      { url: 'http://a.example/base/' },
      { COUNTERSIGN_URL: 'http://b.example' },
      'http://a.example/base',
    ],
  ])('%s', (_, options, env, url) => {
    expect(findConnection(options, { COUNTERSIGN_DATA: '/nowhere', ...env }).url).toBe(url);
  });

  it.each([
    'ftp://c.example',
    'c.example',
    '',
    'http://user:secret@c.example',
    'http://c.example/?a=1',
    'http://c.example/#a',
  ])('refuses %p', (url) => {
    expect(() => findConnection({ url }, {})).toThrow(expect.objectContaining({ exitCode: 2 }));
  });
});

describe('the token of a command', () => {
  it('is --token, then COUNTERSIGN_TOKEN, then "me" of the tokens file', () => {
    const env = { COUNTERSIGN_DATA: dataFolder(tokens) };
    expect(findConnection({ token: 'a' }, { ...env, COUNTERSIGN_TOKEN: 'b' }).token).toBe('a');
    expect(findConnection({}, { ...env, COUNTERSIGN_TOKEN: 'b' }).token).toBe('b');
    expect(findConnection({}, env).token).toBe('my-token');
    expect(findConnection({}, { COUNTERSIGN_TOKENS_FILE: join(env.COUNTERSIGN_DATA, 'tokens.json') }).token).toBe(
      'my-token',
    );
  });

  it('reads the tokens file for a server on this machine alone', () => {
    const env = { COUNTERSIGN_DATA: dataFolder(tokens) };
    for (const url of ['http://localhost:7400', 'http://127.1.2.3', 'http://[::1]:7400']) {
      expect(findConnection({ url }, env).token).toBe('my-token');
    }
    for (const url of ['http://example.com', 'http://127.0.0.1.example.com', 'http://localhost.example.com']) {
      expect(findConnection({ url }, env).token).toBeUndefined();
    }
  });

  it('is unknown without any of these', () => {
    expect(findConnection({}, { COUNTERSIGN_DATA: '/nowhere' })).toMatchObject({
      token: undefined,
      tokenSource: 'nowhere',
    });
  });

  it('is missed with the absolute path of the tokens file, and only for a server on this machine', () => {
    const noToken = (url: string) => () => findWorkerConnection({ url }, { COUNTERSIGN_DATA: 'data' });
    expect(noToken('http://127.0.0.1:7400')).toThrow(
      `There is no token for http://127.0.0.1:7400 in ${resolve('data', 'tokens.json')}.`,
    );
    expect(noToken('http://example.com')).toThrow('There is no token for http://example.com.');
  });

  it.each(['not json', '{}'])('says so when the tokens file is %p', (text) => {
    expect(() => findConnection({}, { COUNTERSIGN_DATA: dataFolder(text) })).toThrow(
      expect.objectContaining({ exitCode: 4 }),
    );
  });

  it('says so when the tokens file cannot be read', () => {
    const file = mkdtempSync(join(tmpdir(), 'countersign-test-'));
    expect(() => findConnection({}, { COUNTERSIGN_TOKENS_FILE: file })).toThrow(/cannot be read \(it is a folder\)/);
  });

  it('never repeats a token that it refuses', () => {
    expect(() => findConnection({ token: 'my secret' }, {})).toThrow(
      expect.objectContaining({ message: expect.not.stringContaining('secret') }),
    );
  });
});

describe('the address of the inbox', () => {
  const base = 'http://127.0.0.1:7400';

  it('is the public URL, or that of the server', () => {
    expect(inboxUrlOf({ COUNTERSIGN_PUBLIC_URL: 'https://c.example/' }, base)).toBe('https://c.example');
    expect(inboxUrlOf({ COUNTERSIGN_PUBLIC_URL: ' ' }, base)).toBe(base);
  });

  it('has no path, because no server has one', () => {
    expect(() => inboxUrlOf({ COUNTERSIGN_PUBLIC_URL: 'https://c.example/sub' }, base)).toThrow(
      'COUNTERSIGN_PUBLIC_URL has a path',
    );
  });
});
