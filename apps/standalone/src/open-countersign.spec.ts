import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';
import { openTracing } from '@countersign/shell';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { clearTokenOf } from './clear-token.js';
import { readStandaloneConfig } from './config.js';
import { openCountersign } from './open-countersign.js';
import { startStandalone } from './standalone.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-open-'));
});
afterEach(() => {
  delete process.env['SECRET_OF_SPEC'];
  rmSync(folder, { recursive: true, force: true });
});

function write(name: string, content: object): string {
  const file = join(folder, name);
  writeFileSync(file, JSON.stringify(content));
  return file;
}
const secret = { env: 'SECRET_OF_SPEC' };
const files: readonly [string, () => string][] = [
  [
    'COUNTERSIGN_TOOLS',
    () => {
      const http = { url: 'https://billing.example/refund', timeoutMs: 1000, headers: { authorization: secret } };
      return write('tools.json', { tools: [{ name: 'refund', http }] });
    },
  ],
  [
    'COUNTERSIGN_CHANNELS',
    () => {
      const pager = { id: 'pager', type: 'webhook', url: 'https://hooks.example/countersign', secret };
      return write('channels.json', { version: 1, channels: [pager] });
    },
  ],
];
const open = (settings: Readonly<Record<string, string>>) =>
  openCountersign({
    COUNTERSIGN_DATA: join(folder, 'data'),
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_LOG_LEVEL: 'silent',
    ...settings,
  });

it('makes no data folder when another process has the port, and uses one that is there', async () => {
  const first = await open({});
  const used = { COUNTERSIGN_PORT: new URL(first.url).port, COUNTERSIGN_DATA: join(folder, 'second') };
  await expect(open(used)).rejects.toMatchObject({
    code: 'EADDRINUSE',
    message: expect.stringContaining('has the port'),
  });
  expect(existsSync(used.COUNTERSIGN_DATA)).toBe(false);
  await first.close();
  const second = await open(used);
  await second.close();
  expect(readdirSync(used.COUNTERSIGN_DATA)).toContain('tokens.json');
});

it('connects with its own tokens, although the environment has those of another server', async () => {
  const theirs = { COUNTERSIGN_TOKEN: 'cs_theirs', COUNTERSIGN_RESOLVER_TOKEN: 'cs_theirs' };
  const { connection, close } = await open(theirs);
  const { token, resolverToken } = connection;
  await close();
  const tokensFile = join(folder, 'data/tokens.json');
  expect([token, resolverToken]).toEqual([clearTokenOf('agent', tokensFile), clearTokenOf('worker', tokensFile)]);
});

it.each(files)('reads the secrets that the file of %s names from its settings', async (variable, file) => {
  const countersign = await open({ [variable]: file(), SECRET_OF_SPEC: 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz' });
  await countersign.close();
});

it.each(files)('reads no secret of the file of %s from the environment of the process', async (variable, file) => {
  process.env['SECRET_OF_SPEC'] = 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz';
  await expect(open({ [variable]: file() })).rejects.toThrow('the environment variable SECRET_OF_SPEC is not set');
});

it('closes the exporter of spans when it cannot start, because strangers could use the tokens that it makes', async () => {
  const env = {
    COUNTERSIGN_DATA: folder,
    COUNTERSIGN_HOST: '0.0.0.0',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  };
  const log = createLog({ level: 'silent' });
  const tracing = await openTracing({ service: 'spec', env, log });
  const closed: boolean[] = [];
  const close = async (): Promise<void> => {
    await tracing?.close();
    closed.push(true);
  };
  const world = { clock: systemClock, ids: createSystemIds(), log, tracing: tracing && { ...tracing, close } };
  await expect(startStandalone(readStandaloneConfig(env), world)).rejects.toThrow('COUNTERSIGN_HOST is 0.0.0.0');
  expect(closed).toEqual([true]);
});
