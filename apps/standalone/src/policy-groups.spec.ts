import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-groups-'));
  writeFileSync(
    join(folder, 'policy.yaml'),
    'version: 1\nrules: [{ id: a, then: { require: { anyOf: [billing] } } }]\n',
  );
});
afterEach(() => {
  rmSync(folder, { recursive: true, force: true });
});

const start = () => {
  const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
  const data = join(folder, 'data');
  const env = { COUNTERSIGN_DATA: data, COUNTERSIGN_PORT: '0', COUNTERSIGN_POLICY: join(folder, 'policy.yaml') };
  return startStandalone(readStandaloneConfig({ ...env, COUNTERSIGN_TOKENS_FILE: tokensFile() }), world);
};
const tokensFile = (): string => join(folder, 'tokens.json');
const writeTokens = (groups: readonly string[]): void => {
  const entry = { token: 'cs_0123456789012345678901234567890123456789', principal: 'ann', roles: ['approver'], groups };
  writeFileSync(tokensFile(), JSON.stringify([entry]), { mode: 0o600 });
};

it('does not start, and records nothing, with a rule that no approver can answer', async () => {
  writeTokens(['ops']);
  await expect(start()).rejects.toThrow(
    'policy.yaml:2: rules.0.then: no person can answer: no approver is in the group billing',
  );
  expect(existsSync(join(folder, 'data/events.db'))).toBe(false);
});

it('starts when an approver has the group', async () => {
  writeTokens(['billing']);
  const server = await start();
  await server.stop();
});
