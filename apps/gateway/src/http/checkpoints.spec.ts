import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { CheckpointSigning, LogCheckpoints } from '../log-checkpoints.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const signings: Readonly<Record<string, CheckpointSigning>> = {
  default: { status: 'signed', note: 'origin\n2\nroot\n\n\u2014 origin c2ln\n' },
  other: { status: 'rewound', why: 'log-rewound: the log is shorter' },
};
const checkpoints: LogCheckpoints = {
  newest: (tenant) => (tenant === 'default' ? 'origin\n1\nroot\n\n\u2014 origin c2ln\n' : undefined),
  sign: (tenant) => Promise.resolve(signings[tenant] ?? { status: 'empty' }),
  vkeys: (tenant) => Promise.resolve(tenant === 'default' ? ['origin+1+key', 'older+2+key'] : []),
};

let world: World;
let without: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ change: (ports) => ({ ...ports, checkpoints }) });
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
  expect(await api.send('GET', '/v1/log/vkey', { as: 'admin' })).toMatchObject({ status: 403 });
  for (const path of ['/v1/log/checkpoint', '/v1/log/vkey'])
    expect(await api.send('GET', path, { as: 'other' })).toMatchObject({ status: 404, body: { code: 'not-found' } });
});

it('a log that contradicts what was signed gets no checkpoint, and the answer says why', async () => {
  expect(await api.send('POST', '/v1/log/checkpoint', { as: 'other' })).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: 'log-rewound: the log is shorter' },
  });
});

it('a gateway without a notary says so', async () => {
  const bare = createApi(without);
  for (const [method, path] of [
    ['GET', '/v1/log/checkpoint'],
    ['POST', '/v1/log/checkpoint'],
    ['GET', '/v1/log/vkey'],
  ] as const) {
    expect(await bare.send(method, path, { as: 'auditor' })).toMatchObject({
      status: 409,
      body: { code: 'not-supported' },
    });
  }
});
