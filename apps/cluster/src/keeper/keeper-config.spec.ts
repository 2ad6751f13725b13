import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@countersign/runtime';
import { printableRoleConfig, readRoleConfig, roles } from '../config.js';
import type { Role } from '../config.js';

type Environment = Readonly<Record<string, string>>;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'keeper-config-'));
  writeFileSync(join(folder, 'token'), `${'t'.repeat(40)}\n`);
  writeFileSync(join(folder, 'tokens'), `${'t'.repeat(40)}\n\n${'u'.repeat(32)}\n`);
  writeFileSync(join(folder, 'short'), 'short\n');
  writeFileSync(join(folder, 'pem'), 'a certificate\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const store = { COUNTERSIGN_EVENTSTORE_URL: 'esdb://store:2113?tls=true' };

const problemsOf = (role: Role, env: Environment): readonly string[] => {
  try {
    readRoleConfig(role, { ...store, ...env }, folder);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ variable, problem }) => `${variable}: ${problem}`);
    throw error;
  }
};

describe('a process that borrows keys', () => {
  const wrong = (env: Environment) => problemsOf('gateway', { COUNTERSIGN_TOKENS_FILE: 'x', ...env });
  const borrowing = { COUNTERSIGN_KEEPER_URL: 'https://keeper:7443', COUNTERSIGN_KEEPER_TOKEN_FILE: 'token' };

  it('has the URL, its token and the authority', () => {
    const env = { ...store, COUNTERSIGN_TOKENS_FILE: 'x', ...borrowing, COUNTERSIGN_KEEPER_CA_FILE: 'pem' };
    const { keeper, keys } = readRoleConfig('gateway', env, folder);
    expect([keeper?.url.href, keeper?.token.reveal(), keeper?.ca, keys]).toEqual([
      ...['https://keeper:7443/', 't'.repeat(40), 'a certificate\n', null],
    ]);
    const printed = printableRoleConfig('gateway', {
      ...env,
      COUNTERSIGN_KEEPER_TOKEN_FILE: join(folder, 'token'),
      COUNTERSIGN_KEEPER_CA_FILE: join(folder, 'pem'),
    });
    expect(JSON.stringify(printed)).not.toContain('ttt');
  });

  it.each(['COUNTERSIGN_KEYS_FOLDER', 'COUNTERSIGN_ROOT_KEY_FILE', 'COUNTERSIGN_ACCEPT_LOST_KEYS'])(
    'is refused with %s, which it would ignore and record values in clear, with a keeper or without',
    (variable) => {
      for (const role of roles.filter((name) => name !== 'keeper')) {
        for (const more of [{}, borrowing]) {
          expect(problemsOf(role, { ...more, [variable]: 'yes' })).toContain(
            `${variable}: is for the keeper alone, because processes share no folder of keys: start the role keeper with it, unset it here, and set COUNTERSIGN_KEEPER_URL (docs/privacy.md)`,
          );
        }
      }
      expect(wrong({ ...borrowing, [variable]: '' })).toEqual([]);
    },
  );

  it('sends its token to another machine over TLS alone', () => {
    const to = (url: string) => wrong({ ...borrowing, COUNTERSIGN_KEEPER_URL: url });
    expect(to('http://keeper:7443')).toEqual([
      'COUNTERSIGN_KEEPER_URL: must be https:// beyond this machine: keys are sent over it',
    ]);
    for (const host of ['127.0.0.1', 'localhost', '[::1]']) expect(to(`http://${host}:7443`)).toEqual([]);
    expect(to('http://127.0.0.1.example.com')).toHaveLength(1);
  });

  it('needs a token, and a token needs the URL', () => {
    expect(wrong({ COUNTERSIGN_KEEPER_URL: 'https://keeper' })).toEqual([
      'COUNTERSIGN_KEEPER_TOKEN_FILE: must be set along with COUNTERSIGN_KEEPER_URL',
    ]);
    expect(wrong({ COUNTERSIGN_KEEPER_TOKEN_FILE: 'token' })).toEqual([
      'COUNTERSIGN_KEEPER_TOKEN_FILE: has no effect without COUNTERSIGN_KEEPER_URL',
    ]);
    expect(wrong({ ...borrowing, COUNTERSIGN_KEEPER_TOKEN_FILE: 'missing' })[0]).toBe(
      `COUNTERSIGN_KEEPER_TOKEN_FILE: file not found: ${join(folder, 'missing')}. Create it or unset the variable.`,
    );
  });
});

describe('the keeper', () => {
  const wrong = (env: Environment) =>
    problemsOf('keeper', { COUNTERSIGN_KEYS_FOLDER: '/keys', COUNTERSIGN_KEEPER_TOKENS_FILE: 'tokens', ...env });

  it('knows each token of its file, none of them short', () => {
    const env = { ...store, COUNTERSIGN_KEYS_FOLDER: '/keys', COUNTERSIGN_KEEPER_TOKENS_FILE: 'tokens' };
    const { keeperServer } = readRoleConfig('keeper', env, folder);
    expect(keeperServer).toMatchObject({ port: 7443, loanMs: 60_000, tls: null });
    expect(keeperServer?.tokens.map((token) => token.reveal())).toEqual(['t'.repeat(40), 'u'.repeat(32)]);
    expect(wrong({ COUNTERSIGN_KEEPER_TOKENS_FILE: 'short' })[0]).toContain('openssl rand -hex 32');
  });

  it('has a certificate with its key, unless it listens on this machine alone', () => {
    const [cert, key] = ['COUNTERSIGN_KEEPER_TLS_CERT_FILE', 'COUNTERSIGN_KEEPER_TLS_KEY_FILE'];
    expect(wrong({ COUNTERSIGN_HOST: '0.0.0.0' })[0]).toContain(`${cert}: must be set unless COUNTERSIGN_HOST`);
    expect(wrong({ [cert]: 'pem' })).toEqual([`${key}: must be set along with ${cert}`]);
    expect(wrong({ [key]: 'pem' })).toEqual([`${cert}: must be set along with ${key}`]);
    expect(wrong({ COUNTERSIGN_HOST: '0.0.0.0', [cert]: 'pem', [key]: 'pem' })).toEqual([]);
  });
});
