import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from '@countersign/runtime';
import { printableRoleConfig, readRoleConfig, readTopicsConfig, roles } from './config.js';
import type { Role } from './config.js';

const store = { COUNTERSIGN_EVENTSTORE_URL: 'esdb://store:2113?tls=true' };
const kafka = { COUNTERSIGN_KAFKA_BROKERS: 'a:9092, b:9092' };
const tokens = { COUNTERSIGN_TOKENS_FILE: 'tokens.json' };
const all = { ...store, ...kafka, ...tokens };

type Environment = Readonly<Record<string, string>>;

/** The variables that a configuration is refused for. */
function wrong(role: Role, env: Environment): readonly string[] {
  try {
    readRoleConfig(role, env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(({ variable, problem }) => `${variable}: ${problem}`);
    throw error;
  }
}

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'cluster-config-'));
  writeFileSync(join(folder, 'password'), 's3cret\n');
  writeFileSync(join(folder, 'empty'), '\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('the configuration of a role', () => {
  it('names all that is missing at once, and for each role only what it needs', () => {
    const missing = Object.fromEntries(roles.map((role) => [role, wrong(role, {}).map((line) => line.split(':')[0])]));
    const both = ['COUNTERSIGN_EVENTSTORE_URL', 'COUNTERSIGN_KAFKA_BROKERS'];
    expect(missing).toEqual({
      gateway: ['COUNTERSIGN_EVENTSTORE_URL', 'COUNTERSIGN_TOKENS_FILE'],
      ...{ ledger: both, relay: both, projector: both, resolver: both, notifier: both },
      notary: [...both, 'COUNTERSIGN_NOTARY_TOKEN_FILE', 'COUNTERSIGN_LOG_KEY_FILE'],
      keeper: ['COUNTERSIGN_EVENTSTORE_URL', 'COUNTERSIGN_KEYS_FOLDER', 'COUNTERSIGN_KEEPER_TOKENS_FILE'],
    });
    // The keeper and the notary read the files of their tokens at once.
    for (const role of roles.filter((each) => each !== 'keeper' && each !== 'notary'))
      expect(wrong(role, all)).toEqual([]);
  });

  it('ignores unrelated environment variables', () => {
    const config = readRoleConfig('ledger', { ...all, COUNTERSIGN_POLICY: '', PATH: '/bin' }, '/srv');
    expect(config).toMatchObject({
      role: 'ledger',
      host: '127.0.0.1',
      port: 7400,
      dataFolder: '/srv/data',
      policyFile: null,
      tokensFile: '/srv/tokens.json',
      kafka: {
        brokers: ['a:9092', 'b:9092'],
        ssl: false,
        sasl: null,
        topicPrefix: 'countersign',
        sessionTimeoutMs: 30_000,
      },
      requests: { tenant: 'default', principal: 'kafka', unsigned: 'refuse', keysFile: null },
    });
  });

  it.each([
    ['127.0.0.1:9092,localhost:9093,[::1]:9094', 'allow'],
    ['127.0.0.1:9092,kafka:9092', 'refuse'],
    ['127.0.0.1.example:9092', 'refuse'],
    ['10.0.0.1:9092', 'refuse'],
  ])('decides by the addresses of the brokers about unsigned requests: %s', (brokers, unsigned) => {
    const env = { ...all, COUNTERSIGN_KAFKA_BROKERS: brokers };
    expect(readRoleConfig('ledger', env).requests).toMatchObject({ unsigned });
    const keys = { ...env, COUNTERSIGN_REQUESTS_KEYS: 'keys.json' };
    expect(readRoleConfig('ledger', keys).requests).toMatchObject({ unsigned: 'refuse' });
  });

  it.each(['countersign', 'countersign-resolver', 'Policy'])(
    'refuses the reserved principal "%s" for unsigned requests',
    (principal) => {
      const env = { ...all, COUNTERSIGN_REQUESTS_PRINCIPAL: principal };
      expect(wrong('ledger', env).join()).toMatch(/REQUESTS_PRINCIPAL: .*choose another/);
    },
  );

  it('refuses unsigned requests once there are keys, unless they are allowed in so many words', () => {
    const keys = { ...all, COUNTERSIGN_REQUESTS_KEYS: 'keys.json' };
    expect(readRoleConfig('ledger', keys).requests).toMatchObject({ unsigned: 'refuse' });
    const allowed = { ...keys, COUNTERSIGN_REQUESTS_UNSIGNED: 'allow' };
    expect(readRoleConfig('ledger', allowed).requests).toMatchObject({ unsigned: 'allow' });
  });

  it.each([
    ['a broker without a port', { COUNTERSIGN_KAFKA_BROKERS: 'kafka' }, /KAFKA_BROKERS: .*host:port/],
    ['a url as broker', { COUNTERSIGN_KAFKA_BROKERS: 'kafka://a:9092' }, /KAFKA_BROKERS/],
    [
      'another scheme, whose password it does not repeat',
      { COUNTERSIGN_EVENTSTORE_URL: 'kdb://u:changeit@store:2113' },
      /must begin with esdb:\/\/, (?!.*changeit)/,
    ],
    [
      'no scheme of a store',
      { COUNTERSIGN_EVENTSTORE_URL: 'http://store:2113' },
      /EVENTSTORE_URL: must begin with esdb/,
    ],
    ['a mechanism alone', { COUNTERSIGN_KAFKA_SASL_MECHANISM: 'plain' }, /SASL_USERNAME: must be set along/],
    ['no boolean', { COUNTERSIGN_KAFKA_SSL: 'yes' }, /KAFKA_SSL/],
    ['a prefix with a space', { COUNTERSIGN_TOPIC_PREFIX: 'a b' }, /TOPIC_PREFIX/],
    ['a level', { COUNTERSIGN_LOG_LEVEL: 'loud' }, /LOG_LEVEL/],
    ['unsigned', { COUNTERSIGN_REQUESTS_UNSIGNED: 'maybe' }, /REQUESTS_UNSIGNED/],
  ])('refuses %s', (_what, env, message) => {
    expect(wrong('ledger', { ...all, ...env }).join('\n')).toMatch(message);
  });

  it('states the limit of each value in plain words', () => {
    const env = {
      COUNTERSIGN_PORT: '70000',
      COUNTERSIGN_LOG_LEVEL: 'loud',
      COUNTERSIGN_KAFKA_SSL: 'yes',
      COUNTERSIGN_KAFKA_SASL_MECHANISM: 'md5',
      COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: '5',
      COUNTERSIGN_REQUESTS_UNSIGNED: 'maybe',
      COUNTERSIGN_REQUESTS_TENANT: 't'.repeat(257),
      COUNTERSIGN_REQUESTS_PRINCIPAL: 'p'.repeat(257),
    };
    const ofLedger = wrong('ledger', { ...all, ...env }).join('\n');
    expect(ofLedger).toContain('COUNTERSIGN_PORT: must be a port number, at most 65535');
    expect(ofLedger).toContain('COUNTERSIGN_KAFKA_SESSION_TIMEOUT_MS: must be from 1000 to 600000');
    expect(ofLedger).toContain('COUNTERSIGN_REQUESTS_TENANT: must have at most 256 characters');
    expect(ofLedger).toContain('COUNTERSIGN_REQUESTS_PRINCIPAL: must have at most 256 characters');
    const serving = {
      COUNTERSIGN_REQUESTS_PER_SECOND: '0',
      COUNTERSIGN_PUBLIC_URL: 'here',
      COUNTERSIGN_OIDC_ISSUER: 'x',
    };
    const ofGateway = wrong('gateway', { ...all, ...serving }).join('\n');
    expect(`${ofLedger}\n${ofGateway}`).not.toMatch(/Too |Invalid |expected/);
  });

  it('takes a public URL at the root of a host, and says what to do about a path', () => {
    for (const publicUrl of ['https://c.example', 'https://c.example/', 'http://127.0.0.1:7400']) {
      expect(wrong('gateway', { ...all, COUNTERSIGN_PUBLIC_URL: publicUrl })).toEqual([]);
    }
    for (const more of ['/sub/path', '/?a=b', '/#part', '//']) {
      for (const role of ['gateway', 'notifier'] as const) {
        expect(wrong(role, { ...all, COUNTERSIGN_PUBLIC_URL: `https://c.example${more}` })).toEqual([
          'COUNTERSIGN_PUBLIC_URL: must have no path, query, fragment or user: give Countersign a host of its own, such as https://approvals.example.com',
        ]);
      }
    }
    expect(wrong('gateway', { ...all, COUNTERSIGN_PUBLIC_URL: 'https://ann@c.example/' })).toHaveLength(1);
  });

  it('takes the origins of pages for a gateway alone, and says what to do about a wildcard', () => {
    const env = { ...all, COUNTERSIGN_CORS_ORIGINS: 'https://desk.example.com/, http://localhost:5173' };
    expect(readRoleConfig('gateway', env).corsOrigins).toEqual(['https://desk.example.com', 'http://localhost:5173']);
    expect(readRoleConfig('gateway', all).corsOrigins).toEqual([]);
    expect(readRoleConfig('ledger', env).corsOrigins).toEqual([]);
    expect(wrong('gateway', { ...all, COUNTERSIGN_CORS_ORIGINS: '*' })).toEqual([
      'COUNTERSIGN_CORS_ORIGINS: has a *, and every origin must be named: write origins separated by commas, such as https://desk.example.com,http://localhost:5173',
    ]);
  });

  it('takes the origins that may frame the inbox for a gateway alone, and refuses wildcards and paths', () => {
    const env = { ...all, COUNTERSIGN_FRAME_ANCESTORS: 'https://desk.example.com' };
    expect(readRoleConfig('gateway', env).frameAncestors).toEqual(['https://desk.example.com']);
    expect(readRoleConfig('gateway', all).frameAncestors).toEqual([]);
    expect(readRoleConfig('notifier', env).frameAncestors).toEqual([]);
    for (const list of ['*', 'https://*.example.com', 'https://desk.example.com/chat', 'null', "'self'"]) {
      const [problem] = wrong('gateway', { ...all, COUNTERSIGN_FRAME_ANCESTORS: list });
      expect(problem).toMatch(/^COUNTERSIGN_FRAME_ANCESTORS: .*https:\/\/desk\.example\.com/);
    }
  });

  it('names a variable once although two checks find it wrong', () => {
    expect(wrong('relay', { ...all, COUNTERSIGN_EVENTSTORE_URL: 'http://store' })).toEqual([
      expect.stringMatching(/^COUNTERSIGN_EVENTSTORE_URL: must begin with esdb/),
    ]);
  });

  it.each([
    ['the password of every installation', 'esdb://admin:changeit@store:2113?tls=true', /change it/],
    ['it also where TLS is the default', 'esdb://admin:changeit@store:2113', /change it/],
    ['a password cut at a colon', 'esdb://u:pa:ss@store:2113', /URL-encoded/],
    ['a password with an @', 'esdb://u:pa@ss@store:2113', /URL-encoded/],
    ['the same for the newer client', 'kurrentdb+discover://u:pa:ss@store:2113', /URL-encoded/],
    ['an option without effect', 'esdb://store:2113?tlsVerifyCert=false', /no effect/],
    [
      'an option that is misspelt',
      'esdb://u:pw1@store:2113?tsl=false',
      /has an unknown option tsl; the options are tls,/,
    ],
    ['a value that an option does not take', 'kurrentdb://u:pw1@store:2113?tls=yes', /wrong tls: it must be true or/],
    ['a password with a question mark', 'esdb://u:1?pw1=a@store:2113', /has an unknown option; the options/],
  ])('refuses %s, and tells no password', (_what, url, message) => {
    const problems = wrong('relay', { ...all, COUNTERSIGN_EVENTSTORE_URL: url }).join('\n');
    expect(problems).toMatch(message);
    expect(problems).not.toContain('changeit');
    expect(problems).not.toContain('pa:ss');
    expect(problems).not.toContain('pw1');
  });

  it.each(['esdb', 'esdb+discover', 'kurrentdb', 'kurrentdb+discover'])('takes %s://', (scheme) => {
    const url = `${scheme}://countersign:p%40ss@store:2113?tls=true`;
    expect(wrong('relay', { ...all, COUNTERSIGN_EVENTSTORE_URL: url })).toEqual([]);
  });

  it('takes the password of an insecure server, which asks for none', () => {
    const url = 'esdb://admin:changeit@store:2113?tls=false';
    expect(wrong('relay', { ...all, COUNTERSIGN_EVENTSTORE_URL: url })).toEqual([]);
  });

  it('refuses debug output that would print the password', () => {
    const env = { ...all, COUNTERSIGN_EVENTSTORE_URL: 'esdb://u:pw@store:2113' };
    for (const debug of ['esdb:*', 'kdb:connection', '*', 'x, esdb'])
      expect(wrong('relay', { ...env, DEBUG: debug })[0]).toMatch(/DEBUG/);
    expect(wrong('relay', { ...env, DEBUG: 'http' })).toEqual([]);
    expect(wrong('relay', { ...all, DEBUG: '*' })).toEqual([]);
  });

  it('reads the password of SASL from its file', () => {
    const sasl = (file: string) => ({
      ...all,
      COUNTERSIGN_KAFKA_SASL_MECHANISM: 'scram-sha-512',
      COUNTERSIGN_KAFKA_SASL_USERNAME: 'ledger',
      COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE: file,
    });
    const { kafka: read } = readRoleConfig('ledger', sasl('password'), folder);
    expect(read?.sasl?.password.reveal()).toBe('s3cret');
    expect(JSON.stringify(read)).not.toContain('s3cret');
    const problem = (file: string) => wrong('ledger', sasl(join(folder, file))).join();
    expect(problem('empty')).toMatch(/^COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE: the file is empty: .*empty\./);
    expect(problem('nowhere')).toMatch(/^COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE: file not found: .*nowhere\. Create it/);
  });
});

describe('the printed configuration', () => {
  it('is the effective value of each variable of the role, and no password', () => {
    const url = 'esdb://countersign:p%40ss@a:2113,b:2113?tls=true';
    const printed = printableRoleConfig('relay', { ...all, COUNTERSIGN_EVENTSTORE_URL: url });
    expect(printed).toMatchObject({
      COUNTERSIGN_EVENTSTORE_URL: 'esdb://countersign:[secret]@a:2113,b:2113?tls=true',
      COUNTERSIGN_PORT: 7400,
      COUNTERSIGN_KAFKA_BROKERS: ['a:9092', 'b:9092'],
    });
    expect(Object.keys(printed)).not.toContain('COUNTERSIGN_TOKENS_FILE');
    expect(JSON.stringify(printed)).not.toContain('p%40ss');
  });
});

describe('the configuration of the topics', () => {
  it('has the numbers of a real cluster by default', () => {
    expect(readTopicsConfig(kafka)).toMatchObject({ partitions: 12, replication: 3 });
    expect(() => readTopicsConfig({ ...kafka, COUNTERSIGN_TOPIC_PARTITIONS: '0' })).toThrow(/PARTITIONS/);
  });

  it('shows how people sign in, with its defaults, and of the secret its file alone; wrong settings are told with the rest', () => {
    const file = join(folder, 'password');
    const issuer = { COUNTERSIGN_OIDC_ISSUER: 'https://login.example', COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: file };
    const printed = printableRoleConfig('gateway', { ...all, ...issuer, COUNTERSIGN_OIDC_CLIENT_ID: 'countersign' });
    expect(printed).toMatchObject({
      ...issuer,
      COUNTERSIGN_OIDC_CLIENT_ID: 'countersign',
      COUNTERSIGN_OIDC_AUDIENCE: null,
      COUNTERSIGN_OIDC_ROLES_CLAIM: 'roles',
      COUNTERSIGN_OIDC_GROUPS_CLAIM: 'groups',
      COUNTERSIGN_OIDC_TENANT: 'default',
    });
    expect(JSON.stringify(printed)).not.toContain('s3cret');
    expect(wrong('gateway', { ...store, ...issuer })).toEqual([
      expect.stringMatching(/^COUNTERSIGN_TOKENS_FILE: /),
      'COUNTERSIGN_OIDC_CLIENT_ID: must be set (needed with COUNTERSIGN_OIDC_ISSUER)',
    ]);
    expect(wrong('gateway', { ...all, COUNTERSIGN_OIDC_CLIENT_ID: 'c' })).toEqual([
      'COUNTERSIGN_OIDC_ISSUER: must be set (needed with COUNTERSIGN_OIDC_CLIENT_ID)',
    ]);
    const unread = { ...issuer, COUNTERSIGN_OIDC_CLIENT_ID: 'c', COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: `${file}-gone` };
    expect(wrong('gateway', { ...all, ...unread })).toEqual([
      `COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: file not found: ${file}-gone. Create it or unset the variable.`,
    ]);
  });
});
