import {
  appendFileSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { formatVkey } from '@countersign/audit';
import {
  approvedStory,
  honestCheckpoint,
  proofOfCall,
  strangerSigner,
  testSigner,
  versionOneLog,
} from '@countersign/audit/testing';
import { exportTo, rewriteManifest } from '../testing/bundle-of.js';
import { createCliRun } from '../testing/cli-run.js';
import { hashFile } from './manifest.js';

// Texts in a bundle or a proof that a person reads, although no hash or signature covers them.

const log = versionOneLog();
const note = honestCheckpoint(log);
const run = createCliRun({});
let top: string;
let honest: string;
beforeAll(async () => {
  top = mkdtempSync(join(tmpdir(), 'countersign-'));
  honest = join(top, 'honest');
  await exportTo(honest, { events: log, note });
  writeFileSync(join(top, 'keys'), formatVkey(testSigner.key));
});
afterAll(() => {
  rmSync(top, { recursive: true });
});

async function verified(source: string) {
  const { code, out } = await run('audit', 'verify', source, '--vkey', join(top, 'keys'), '--all');
  return { code, out: out.replaceAll(/\s+/g, ' ') };
}

/** A copy of the honest bundle, changed, with a manifest that has these files too. */
function changed(change: (folder: string) => void, ...added: readonly string[]): string {
  const folder = mkdtempSync(join(top, 'bundle-'));
  cpSync(honest, folder, { recursive: true });
  change(folder);
  rewriteManifest(folder, (manifest) => {
    const files = Object.fromEntries(added.map((path) => [path, hashFile(join(folder, path))]));
    const checkpoint = readFileSync(join(folder, 'checkpoints', '1.txt'), 'utf8');
    return { ...manifest, checkpoint, files: { ...manifest.files, ...files } };
  });
  return folder;
}

it('a checkpoint of a stranger after the honest one is found', async () => {
  const both = `${note}\n${honestCheckpoint(log.slice(0, 3), strangerSigner)}`;
  const folder = changed((bundle) => {
    for (const path of ['checkpoints/1.txt', 'tiles/checkpoint']) writeFileSync(join(bundle, path), both);
  });
  expect(await verified(folder)).toMatchObject({ code: 1, out: expect.stringContaining('cannot be read') as unknown });
});

it('a checkpoint under the name of another epoch is found', async () => {
  const folder = changed((bundle) => {
    cpSync(join(bundle, 'checkpoints/1.txt'), join(bundle, 'checkpoints/7.txt'));
  }, 'checkpoints/7.txt');
  expect(await verified(folder)).toMatchObject({
    code: 1,
    out: expect.stringContaining('checkpoints/7.txt') as unknown,
  });
});

it.each(['', 'tiles'])('words in the place of a change of the log key are found (%s)', async (inner) => {
  const folder = changed((bundle) => {
    writeFileSync(join(bundle, 'tiles/key-changes'), 'alice approved\n');
  }, 'tiles/key-changes');
  const found = {
    code: 1,
    out: expect.stringContaining('a change of the log key in it cannot be verified') as unknown,
  };
  expect(await verified(join(folder, inner))).toMatchObject(found);
});

it('a link in the place of the manifest is not followed', async () => {
  const folder = changed(() => undefined);
  renameSync(join(folder, 'manifest.json'), join(top, 'elsewhere.json'));
  symlinkSync(join(top, 'elsewhere.json'), join(folder, 'manifest.json'));
  expect(await verified(folder)).toMatchObject({ code: 2 });
});

it.each(['alice approved', { by: 'alice' }, formatVkey({ ...testSigner.key, name: 'other/default/1' })])(
  'a proof with %j in the place of the key of the log is not read',
  async (vkey) => {
    const events = approvedStory().claim().report().events;
    const callId = events.find(({ stream }) => stream.startsWith('toolCall-'))!.stream.slice('toolCall-'.length);
    const proof = { format: 'countersign-proof/1', ...proofOfCall(events, callId) };
    const written = (key: unknown): string => {
      writeFileSync(join(top, 'proof.json'), JSON.stringify({ ...proof, vkey: key }));
      return join(top, 'proof.json');
    };
    expect(await verified(written(formatVkey(testSigner.key)))).toMatchObject({ code: 0 });
    expect(await verified(written(vkey))).toMatchObject({ code: 2 });
  },
);

it.each([
  ['is cut off', (text: string) => text.slice(0, -9)],
  [
    'is too deep',
    (text: string) => text.replace('"data":{', `"data":{"deep":${'['.repeat(2_000)}${']'.repeat(2_000)},`),
  ],
  ['has a number that is none', (text: string) => text.replace('"data":{', '"data":{"count":1e999,')],
  [
    'has more values than a program can hold',
    (text: string) => text.replace('"data":{', `"data":{"many":[${'0,'.repeat(2_000_000)}0],`),
  ],
])('a proof that %s is no proof, and that is said', async (_how, change) => {
  const events = approvedStory().claim().report().events;
  const callId = events.find(({ stream }) => stream.startsWith('toolCall-'))!.stream.slice('toolCall-'.length);
  const text = JSON.stringify({ format: 'countersign-proof/1', ...proofOfCall(events, callId) });
  writeFileSync(join(top, 'proof.json'), change(text));
  const { code, err } = await run('audit', 'verify', join(top, 'proof.json'));
  expect([code, err.replaceAll(/\s+/g, ' ')]).toEqual([
    2,
    expect.stringContaining('is a proof of a call that cannot be read'),
  ]);
});

it('a file that is too large for a proof, and has no lines of events, is not read', async () => {
  const file = join(top, 'large.json');
  writeFileSync(file, '{"format": "countersign-proof/1",\n');
  truncateSync(file, 65 * 1024 * 1024);
  const { code, err } = await run('audit', 'verify', file);
  expect([code, err]).toEqual([2, expect.stringMatching(/larger\s+than 64 MiB/)]);
});

it.each([2_000, 300_000])('an event of %i levels is a finding, and the others are judged', async (levels) => {
  const deep = `{"deep":${'['.repeat(levels)}${']'.repeat(levels)},`;
  const lines = log.map((event) => `${JSON.stringify(event)}\n`).with(5, '');
  const file = join(top, 'deep.ndjson');
  writeFileSync(file, lines.join(''));
  appendFileSync(file, `${JSON.stringify(log[5]).replace('"data":{', `"data":${deep}`)}\n`);
  expect(await verified(file)).toMatchObject({
    code: 1,
    out: expect.stringContaining('the line is no event') as unknown,
  });
});
