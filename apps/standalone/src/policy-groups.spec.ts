import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
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

const log = createCollectingLog();
const start = () => {
  const world = { clock: systemClock, ids: createSystemIds(), log };
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

it('starts with a rule that asks for more people than are known, and warns with its line', async () => {
  writeTokens(['billing']);
  const require =
    'quorum: { approve: 2, of: [billing] }, expiresIn: never, onTimeout: allow, allowOnTimeout: i-understand';
  writeFileSync(
    join(folder, 'policy.yaml'),
    `version: 1\nrules:\n  - id: a\n    then:\n      require: { ${require} }\n`,
  );
  const server = await start();
  const said = () => log.entries.find(({ message }) => message === 'the policy file has parts that look like mistakes');
  while (said() === undefined) await new Promise((done) => setTimeout(done, 50));
  await server.stop();
  const at = `${join(folder, 'policy.yaml')}:5: rules.0.then.require`;
  expect(said()).toMatchObject({
    level: 'warn',
    fields: {
      count: 2,
      first: [
        `${at}.onTimeout: never happens: with "expiresIn: never" there is no deadline. Write an "expiresIn", or leave "onTimeout" out`,
        `${at}: too few people are known in "billing" for stage 1, so no call is approved: add people, or ask for fewer`,
      ],
    },
  });
});
