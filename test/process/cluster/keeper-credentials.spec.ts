import { execFileSync } from 'node:child_process';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { readCompose } from './compose-file.js';

cleanUpAfterEach();

const script = join(import.meta.dirname, '..', '..', '..', 'deploy', 'credentials.mjs');
const roles = ['gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier'];
let folder: string;

const create = (): void => void execFileSync(process.execPath, [script, 'create', folder], { stdio: 'pipe' });
const read = (...path: readonly string[]): string => readFileSync(join(folder, ...path), 'utf8').trim();
const tokenOf = (role: string): string => read(role, 'keeper-token');
const readAll = (): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /keeper/.test(name) && /[.-](pem|token|tokens)$/.test(name))
    .map((name) => `${name} ${read(name)}`);

beforeEach(() => {
  folder = temporaryFolder();
  create();
});

test('the keeper knows the token of each role, and each role has another one', () => {
  expect(new Set(roles.map(tokenOf)).size).toBe(roles.length);
  expect(read('keeper', 'keeper-tokens').split('\n').toSorted()).toEqual(roles.map(tokenOf).toSorted());
});

test('the certificate of the keeper is for the host that the roles call, and is the authority of each role', () => {
  const certificate = new X509Certificate(read('keeper', 'keeper.pem'));
  const urls = readCompose().services.flatMap(({ environment: { COUNTERSIGN_KEEPER_URL: url } }) => url ?? []);
  expect(urls).toHaveLength(7);
  for (const url of urls) expect(certificate.checkHost(new URL(url).hostname)).toBeDefined();
  for (const role of roles) expect(read(role, 'keeper.pem')).toBe(read('keeper', 'keeper.pem'));
});

test('each role that writes knows a token and the certificate of the notaries, and the log key is with the notaries alone', () => {
  const certificate = new X509Certificate(read('notary', 'notary.pem'));
  const [urls] = readCompose().services.flatMap(({ environment: { COUNTERSIGN_NOTARY_URL: url } }) => url ?? []);
  for (const url of urls!.split(',')) expect(certificate.checkHost(new URL(url).hostname)).toBeDefined();
  const writers = roles.filter((role) => role !== 'relay');
  for (const role of writers) expect(read(role, 'notary.pem')).toBe(read('notary', 'notary.pem'));
  const tokens = writers.map((role) => read(role, 'notary-token'));
  expect(new Set(tokens).size).toBe(writers.length);
  expect(read('notary', 'notary-tokens').split('\n')).toEqual(tokens);
  expect(createPrivateKey(read('notary', 'log-key.pem')).asymmetricKeyType).toBe('ed25519');
  const before = read('notary', 'log-key.pem');
  create();
  expect(read('notary', 'log-key.pem')).toBe(before);
});

test('a second start changes nothing, and replaces what was removed for all who need it', () => {
  const [before, old] = [readAll(), tokenOf('relay')];
  expect(before).toHaveLength(15);
  create();
  expect(readAll()).toEqual(before);
  for (const volume of ['relay', 'keeper']) rmSync(join(folder, volume), { recursive: true });
  create();
  expect(tokenOf('relay')).not.toBe(old);
  expect(read('keeper', 'keeper-tokens')).not.toContain(old);
  expect(read('keeper', 'keeper-tokens')).toContain(tokenOf('relay'));
  for (const role of roles) expect(read(role, 'keeper.pem')).toBe(read('keeper', 'keeper.pem'));
});
