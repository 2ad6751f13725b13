import { createMlDsaSigner, formatVkey } from '@countersign/audit';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CheckpointSigning, LogCheckpoints, RewoundLog } from '../log-checkpoints.js';
import type { RecordOfUse } from '../record-of-use.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const mlDsaVkey = formatVkey(createMlDsaSigner('origin', new Uint8Array(32))!.key);
const signings: Readonly<Record<string, CheckpointSigning>> = {
  default: { status: 'signed', note: 'origin\n2\nroot\n\n\u2014 origin c2ln\n' },
  other: { status: 'rewound', why: 'log-rewound: the log is shorter' },
};
const checkpoints: LogCheckpoints = {
  newest: (tenant, isPending = false) =>
    tenant === 'default' || isPending ? 'origin\n1\nroot\n\n\u2014 origin c2ln\n' : undefined,
  sign: (tenant) => Promise.resolve(signings[tenant] ?? { status: 'empty' }),
  rewound: (tenant) => (tenant === 'other' ? undefined : rewound),
  goOn: (tenant) => Promise.resolve(wentOn(tenant)),
  keyChanges: (tenant) => (tenant === 'default' ? ['{"index":4}'] : []),
  timestamps: (tenant, { size, after, limit }) =>
    Promise.resolve(
      [3, 5]
        .filter((one) => tenant === 'default' && (size ?? one) === one && one > (after?.size ?? 0))
        .slice(0, limit)
        .map((one) => ({ ...stampOf(one) })),
    ),
  vkeys: (tenant) => Promise.resolve(tenant === 'default' ? ['origin+1+key', mlDsaVkey, 'older+2+key'] : []),
};

const stampOf = (size: number) => ({
  ...{ epoch: 1, size, text: `origin\n${String(size)}\nroot\n` },
  ...{ time: '2026-11-03T09:00:00.000Z', reply: Uint8Array.of(0x30, 0, size) },
});
let rewound: RewoundLog | undefined;
const steps: unknown[] = [];
const wentOn = (tenant: string): CheckpointSigning => {
  steps.push(`on: ${tenant}`);
  return { status: 'signed', note: 'origin/2\n1\nroot\n\n\u2014 origin/2 c2ln\n' };
};
let recording = Promise.resolve();
const use: RecordOfUse = {
  ...{ signedIn: () => undefined, signInRefused: () => undefined },
  auditRead: () => Promise.resolve(),
  close: () => Promise.resolve(),
  lossKnown: () => Promise.resolve(),
  logRestored: ({ principal }, restored) => {
    steps.push({ principal, ...restored });
    return recording;
  },
};

let world: World;
let without: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ change: (ports) => ({ ...ports, checkpoints, use }) });
  without = await openWorld();
  api = createApi(world);
});
afterAll(() => Promise.all([world.close(), without.close()]));

it('a checkpoint and the keys are texts, byte for byte, for auditors of the tenant alone', async () => {
  const newest = await api.send<string>('GET', '/v1/log/checkpoint', { as: 'auditor' });
  expect(newest).toMatchObject({ status: 200, body: checkpoints.newest('default') });
  expect(newest.headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(await api.send('POST', '/v1/log/checkpoint', { as: 'auditor' })).toMatchObject({
    status: 200,
    body: expect.stringContaining('origin\n2\n'),
  });
  expect((await api.send('GET', '/v1/log/vkey', { as: 'auditor' })).body).toBe('origin+1+key\nolder+2+key\n');
  const all = (await api.send<string>('GET', '/v1/log/vkey?all=true', { as: 'auditor' })).body.split('\n');
  expect(all).toEqual(['origin+1+key', mlDsaVkey, 'older+2+key', '']);
  expect((await api.send('GET', '/v1/log/key-changes', { as: 'auditor' })).body).toBe('{"index":4}\n');
  expect(await api.send('GET', '/v1/log/key-changes', { as: 'admin' })).toMatchObject({ status: 403 });
  expect(await api.send('GET', '/v1/log/vkey', { as: 'admin' })).toMatchObject({ status: 403 });
  for (const path of ['/v1/log/checkpoint', '/v1/log/vkey'])
    expect(await api.send('GET', path, { as: 'other' })).toMatchObject({ status: 404, body: { code: 'not-found' } });
});

it('a time stamp is sent as the authority gave it, and the list has the text that is stamped', async () => {
  const stamp = await api.send<string>('GET', '/v1/log/checkpoint/timestamp?size=5', { as: 'auditor' });
  expect(stamp).toMatchObject({ status: 200, body: '0\u0000\u0005' });
  expect(stamp.headers.get('content-type')).toBe('application/timestamp-reply');
  expect(await api.send('GET', '/v1/log/checkpoint/timestamp?size=4', { as: 'auditor' })).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('GET /v1/log/timestamps lists') },
  });
  expect(await api.send('GET', '/v1/log/checkpoint/timestamp', { as: 'other' })).toMatchObject({
    status: 404,
    body: { detail: expect.stringContaining('COUNTERSIGN_TSA_URL') },
  });
  const list = await api.send<string>('GET', '/v1/log/timestamps?after=1.3', { as: 'auditor' });
  expect(list.headers.get('content-type')).toBe('application/x-ndjson');
  const { text, reply, ...line } = stampOf(5);
  expect(list.body).toBe(
    `${JSON.stringify({ ...line, checkpoint: text, timestamp: Buffer.from(reply).toString('base64') })}\n`,
  );
  for (const path of ['/v1/log/checkpoint/timestamp', '/v1/log/timestamps'])
    expect(await api.send('GET', path, { as: 'admin' })).toMatchObject({ status: 403 });
  expect(await api.send('GET', '/v1/log/timestamps?after=3', { as: 'auditor' })).toMatchObject({ status: 400 });
});

it('a checkpoint without the quorum of the witnesses is given to those who ask for it', async () => {
  const served = await api.send('GET', '/v1/log/checkpoint', { as: 'other' });
  expect(served).toMatchObject({ status: 404, body: { detail: expect.stringContaining('add ?pending=true') } });
  expect(await api.send('GET', '/v1/log/checkpoint?pending=true', { as: 'other' })).toMatchObject({
    status: 200,
    body: checkpoints.newest('other', true),
  });
});

it('a log that contradicts what was signed gets no checkpoint, and the answer says why', async () => {
  expect(await api.send('POST', '/v1/log/checkpoint', { as: 'other' })).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: 'log-rewound: the log is shorter' },
  });
});

it('a log that contradicts what was signed goes on when an admin says why, which is recorded first', async () => {
  const goOn = (body: unknown, as: 'admin' | 'auditor' = 'admin') =>
    api.send<{ code: string }>('POST', '/v1/log/continue', { as, body });
  expect(await goOn({ reason: 'from the backup' })).toMatchObject({
    status: 200,
    body: expect.stringMatching(/^origin\n/),
  });
  expect(steps).toEqual([]);
  rewound = { why: 'the log is shorter', checkpoint: 'a signed note' };
  expect(await goOn({ reason: '' })).toMatchObject({ status: 400 });
  expect(await goOn({ reason: 'from the backup' }, 'auditor')).toMatchObject({ status: 403 });
  recording = Promise.reject(new EventStoreUnavailableError('the disk is full'));
  expect(await goOn({ reason: 'from the backup' })).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(steps.splice(0)).toHaveLength(1);
  recording = Promise.resolve();
  expect(await goOn({ reason: 'from the backup' })).toMatchObject({
    status: 200,
    body: expect.stringMatching(/^origin\/2\n/),
  });
  expect(steps).toEqual([{ principal: 'admin', reason: 'from the backup', ...rewound }, 'on: default']);
});

it('a gateway without a notary says so', async () => {
  const bare = createApi(without);
  for (const [method, path] of [
    ['GET', '/v1/log/checkpoint'],
    ['POST', '/v1/log/checkpoint'],
    ['GET', '/v1/log/vkey'],
    ['GET', '/v1/log/key-changes'],
    ['GET', '/v1/log/checkpoint/timestamp'],
    ['GET', '/v1/log/timestamps'],
  ] as const) {
    expect(await bare.send(method, path, { as: 'auditor' })).toMatchObject({
      status: 409,
      body: { code: 'not-supported' },
    });
  }
});
