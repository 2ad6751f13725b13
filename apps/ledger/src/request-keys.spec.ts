import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createCollectingLog } from '@countersign/runtime/testing';
import { createRequestKeys, loadRequestKeys, RequestKeysError } from './request-keys.js';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const open = publicKey.export({ format: 'jwk' });
const entry = (kid: string, more: object = {}): object => ({ kid, publicKey: open, principal: 'p', ...more });

describe('the request keys', () => {
  it('are refused with a reserved principal or a bad glob', async () => {
    const reserved = createRequestKeys([entry('a', { principal: 'countersign-resolver' })]);
    await expect(reserved).rejects.toThrow(/0\.principal: .*choose another/);
    const bad = createRequestKeys([entry('a', { agentIds: ['[a-z]*'] })]);
    await expect(bad).rejects.toThrow(/0\.agentIds\.0: .*only \* and \? do/);
  });

  it('belong to the default tenant and speak for no other agent unless they say otherwise', async () => {
    const keys = await createRequestKeys([entry('a'), entry('b', { tenant: 'acme', agentIds: ['x-*'] })]);
    expect(keys.find('a')).toMatchObject({ tenant: 'default', agentIds: [], alg: 'EdDSA' });
    expect(keys.find('b')).toMatchObject({ tenant: 'acme', agentIds: ['x-*'] });
    expect(keys.find('c')).toBeUndefined();
  });

  it.each<[string, unknown, string]>([
    ['a private key', [entry('a', { publicKey: privateKey.export({ format: 'jwk' }) })], '0.publicKey'],
    ['a key of another kind', [entry('a', { publicKey: { kty: 'oct', k: 'AAAA' } })], '0.publicKey.kty'],
    ['a curve that we do not know', [entry('a', { publicKey: { ...open, crv: 'Ed448' } })], '0.publicKey.crv'],
    ['a point that is none', [entry('a', { publicKey: pointOffTheCurve() })], '0.publicKey'],
    ['the same name twice', [entry('a'), entry('a')], '1.kid'],
    ['a member that is not known', [entry('a', { role: 'admin' })], '0'],
    ['no principal', [{ kid: 'a', publicKey: open }], '0.principal'],
    ['no list', { a: 1 }, ''],
  ])('are refused for %s, naming where', async (_, entries, path) => {
    const error = await createRequestKeys(entries).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(RequestKeysError);
    expect((error as RequestKeysError).problems[0]?.path).toBe(path);
  });
});

describe('the keys file', () => {
  let folder: string;
  let file: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'countersign-keys-'));
    file = join(folder, 'keys.json');
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is read again: a key can be added and withdrawn', async () => {
    writeFileSync(file, JSON.stringify([entry('a')]));
    const keys = await loadRequestKeys(file, createCollectingLog());
    writeFileSync(file, JSON.stringify([entry('b')]));
    await keys.reload();
    expect([keys.find('a'), keys.find('b')?.kid]).toEqual([undefined, 'b']);
    keys.close();
  });

  it('is read again while an older version of it is being read: a key that was withdrawn meanwhile stays withdrawn', async () => {
    writeFileSync(file, JSON.stringify([entry('a')]));
    const keys = await loadRequestKeys(file, createCollectingLog());
    writeFileSync(
      file,
      JSON.stringify(Array.from({ length: 500 }, (_, n) => entry(n === 0 ? 'leaked' : `k${String(n)}`))),
    );
    const long = keys.reload();
    writeFileSync(file, JSON.stringify([entry('b')]));
    await keys.reload();
    await long;
    expect([keys.find('leaked'), keys.find('b')?.kid]).toEqual([undefined, 'b']);
    keys.close();
  });

  it.each(['{broken', '[{"kid":1}]', '{}'])(
    'keeps the keys as they were when it is not valid, and says so: %s',
    async (text) => {
      const log = createCollectingLog();
      writeFileSync(file, JSON.stringify([entry('a')]));
      const keys = await loadRequestKeys(file, log);
      writeFileSync(file, text);
      await keys.reload();
      expect(keys.find('a')?.kid).toBe('a');
      expect(log.entries.at(-1)).toMatchObject({ level: 'error' });
      keys.close();
    },
  );

  it('must be valid at the start', async () => {
    await expect(loadRequestKeys(file, createCollectingLog())).rejects.toThrow(
      `COUNTERSIGN_REQUESTS_KEYS: file not found: ${file}. Create it or unset the variable.`,
    );
    writeFileSync(file, '[{]');
    await expect(loadRequestKeys(file, createCollectingLog())).rejects.toThrow('is not valid JSON');
  });
});

function pointOffTheCurve(): object {
  return { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) };
}
