import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keyTypes, parseNote, parseVkey, verifyNote } from '@countersign/audit';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createExecSigner, readSignerProgram } from './exec-signer.js';
import { createNotary } from './notary.js';
import { openCheckpointFile } from './sqlite/checkpoint-file.js';
import { openTreeFile } from './sqlite/tree-file.js';

/** A signer by the formats alone. Its first argument says how it misbehaves. */
const script = `
import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto';
import { readFileSync } from 'node:fs';
const [how, name, vkey] = process.argv.slice(2);
const seed = Buffer.alloc(32, 7);
const key = createPrivateKey({ key: Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed]), format: 'der', type: 'pkcs8' });
const typed = Buffer.concat([Buffer.of(1), createPublicKey(key).export({ format: 'der', type: 'spki' }).subarray(-32)]);
const id = createHash('sha256').update(name + '\\n').update(typed).digest().subarray(0, 4);
const second = createPrivateKey({ key: Buffer.concat([Buffer.from('3034020100300b060960864801650304031104228020', 'hex'), seed]), format: 'der', type: 'pkcs8' });
const typedSecond = Buffer.concat([Buffer.of(6), createPublicKey(second).export({ format: 'der', type: 'spki' }).subarray(-1312)]);
const idSecond = createHash('sha256').update(name + '\\n').update(typedSecond).digest().subarray(0, 4);
const isTwofold = ['signs twice', 'lies in the second'].includes(how);
if (vkey === '--vkey') {
  console.log(name + '+' + id.toString('hex') + '+' + typed.toString('base64'));
  if (isTwofold) console.log(name + '+' + idSecond.toString('hex') + '+' + typedSecond.toString('base64'));
  if (how === 'has a stray key') console.log(name + 's+' + id.toString('hex') + '+' + typed.toString('base64'));
} else {
  if (how === 'fails') { console.error('the token is locked'); process.exit(3); }
  if (how === 'hangs') await new Promise((resolve) => setTimeout(resolve, 60_000));
  if (how === 'chatters') console.log('done');
  const text = readFileSync(0);
  const signature = sign(null, how === 'lies' ? Buffer.from('another text') : text, key);
  if (process.env.COUNTERSIGN_TOKEN !== undefined) process.exit(4);
  console.log('\\u2014 ' + name + ' ' + Buffer.concat([id, signature]).toString('base64'));
  if (isTwofold) {
    const [origin, size, root] = text.toString().split('\\n');
    const end = Buffer.alloc(8);
    end.writeBigUInt64BE(BigInt(size));
    const named = (of) => Buffer.concat([Buffer.of(of.length), Buffer.from(of)]);
    const message = [Buffer.from('subtree/v1\\n\\0'), named(name), Buffer.alloc(8), named(origin), Buffer.alloc(8), end, Buffer.from(root, 'base64')];
    const made = sign(null, how === 'signs twice' ? Buffer.concat(message) : Buffer.from('another'), second);
    console.log('\\u2014 ' + name + ' ' + Buffer.concat([idSecond, Buffer.alloc(8), made]).toString('base64'));
  }
}
`;

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-signer-'));
  writeFileSync(join(folder, 'signer.mjs'), script);
  process.env['COUNTERSIGN_TOKEN'] = 'a secret';
});
afterAll(() => {
  rmSync(folder, { recursive: true });
  delete process.env['COUNTERSIGN_TOKEN'];
});

const signer = (how: string, timeoutMs?: number) =>
  createExecSigner({
    ...{ command: [process.execPath, join(folder, 'signer.mjs'), how], clock: systemClock, timeoutMs },
  });

const log = createSimulatedLog();

/** What a notary with this signer says when it is asked for a checkpoint, and its health after that. */
async function signWith(how: string, timeoutMs?: number) {
  const store = createSimulatedEventStore({ clock: systemClock, log });
  const event = sampleEvent();
  await store.append(`toolCall-${event.eventId}`, -1, [event]);
  const files = { trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') };
  const base = { ...files, store, clock: systemClock, log: createSilentLog(), origin: 'countersign.example' };
  const notary = createNotary({ ...base, signer: signer(how, timeoutMs), acceptsContradiction: false });
  notary.start();
  let signing = await notary.sign('default');
  // On a slow machine the program takes longer than a request for a checkpoint waits.
  for (let tries = 0; tries < 30 && signing.status === 'empty'; tries += 1) signing = await notary.sign('default');
  const [health, vkeys] = [notary.health(), await notary.vkeys('default').catch(() => [])];
  const kept = files.checkpoints.ofTenant('default');
  await notary.stop();
  return { signing, health, vkeys, kept };
}

it('a program signs, and its key verifies what it signed', async () => {
  const { signing, vkeys } = await signWith('well');
  if (signing.status !== 'signed') throw new Error(JSON.stringify(signing));
  expect(verifyNote(parseNote(signing.note)!, [parseVkey(vkeys[0]!)!]).verified).toHaveLength(1);
});

it('a program may sign with an ML-DSA-44 key too', async () => {
  const { signing, vkeys } = await signWith('signs twice');
  if (signing.status !== 'signed') throw new Error(JSON.stringify(signing));
  const keys = vkeys.map((vkey) => parseVkey(vkey)!);
  expect(keys.map(({ type }) => type)).toEqual([keyTypes.ed25519, keyTypes.mlDsaCosignature]);
  expect(verifyNote(parseNote(signing.note)!, keys)).toEqual({ verified: keys, refuted: [], unknown: [] });
});

describe('a program that', () => {
  it.each([
    ['fails', 'the signer ended with 3: the token is locked'],
    ['lies', 'is not one of its key'],
    ['lies in the second', 'is not one of its key'],
    ['has a stray key', 'printed no vkey'],
    ['chatters', 'no signature line'],
    ['hangs', 'did not end within 1500 ms'],
  ])('%s signs nothing, and readiness says why', async (how, why) => {
    const { signing, health, kept } = await signWith(how, how === 'hangs' ? 1_500 : undefined);
    expect(signing).toMatchObject({ status: 'unavailable', why: expect.stringContaining(why) });
    expect(health).toMatchObject({ status: 'failed', why: expect.stringContaining(why) });
    expect(kept).toEqual([]);
  });

  it('is not there signs nothing', async () => {
    const missing = createExecSigner({ command: [join(folder, 'nothing')], clock: systemClock });
    await expect(missing.sign('a', 'text\n')).rejects.toThrow('cannot be started');
  });
});

it.each([
  ['exec:/usr/bin/signer', ['/usr/bin/signer']],
  ['exec:/usr/bin/signer  --slot 3', ['/usr/bin/signer', '--slot', '3']],
  ['exec:', undefined],
  ['exec: ', undefined],
  ['/usr/bin/signer', undefined],
])('reads the setting %j', (setting, command) => {
  expect(readSignerProgram(setting)).toEqual(command);
});
