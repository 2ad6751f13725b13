import { request as httpRequest } from 'node:http';
import { formatEntries, hashBytes } from '@countersign/audit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { LogCheckpoints } from '../log-checkpoints.js';
import type { LogTiles } from '../log-tiles.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const note = 'origin\n300\nroot\n\n\u2014 origin c2ln\n';
const checkpoints: LogCheckpoints = {
  newest: (tenant) => (tenant === 'default' || tenant === 'a b' ? note : undefined),
  sign: () => Promise.resolve({ status: 'empty' }),
  rewound: () => undefined,
  goOn: () => Promise.resolve({ status: 'empty' }),
  timestamps: () => Promise.resolve([]),
  keyChanges: (tenant) => (tenant === 'default' ? ['{"index":4}'] : []),
  vkeys: () => Promise.resolve([]),
};
const tenants = ['default', 'other', 'a b'];
const widths = new Map([
  ['0/0', 256],
  ['0/1', 44],
  ['1/0', 1],
]);
const widthOf = (level: number, index: number): number => widths.get(`${String(level)}/${String(index)}`) ?? 0;
const hashesOf = (tenant: string, width: number): Uint8Array =>
  new Uint8Array(width * hashBytes).fill(tenants.indexOf(tenant) + 1);
const entriesOf = (tenant: string, width: number): string[] =>
  Array.from({ length: width }, (_, at) => `${tenant} ${String(at)}`);
const tiles: LogTiles = {
  tenants: () => tenants,
  hashTile: (tenant, level, index) => Promise.resolve(hashesOf(tenant, widthOf(level, index))),
  entryTile: (tenant, index) => Promise.resolve(entriesOf(tenant, widthOf(0, index))),
  prove: () => Promise.resolve([]),
};

let world: World;
let open: World;
let without: World;
beforeAll(async () => {
  world = await openWorld({ change: (ports) => ({ ...ports, checkpoints, tiles }) });
  open = await openWorld({ change: (ports) => ({ ...ports, checkpoints, tiles, logPublic: 'hashes' }) });
  without = await openWorld();
});
afterAll(() => Promise.all([world.close(), open.close(), without.close()]));

interface Got {
  readonly status: number;
  readonly bytes: Buffer;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** Sends a path as it is: `fetch` would change some of them. */
function get(path: string, as: string | null, of = world, more: Readonly<Record<string, string>> = {}): Promise<Got> {
  const token = as === null ? {} : { authorization: `Bearer ${as}-token` };
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(of.url);
    const sent = httpRequest({ hostname, port, path, agent: false, headers: { ...token, ...more } }, (answer) => {
      const parts: Buffer[] = [];
      answer.on('data', (part: Buffer) => parts.push(part));
      answer.once('end', () => {
        resolve({ status: answer.statusCode ?? 0, bytes: Buffer.concat(parts), headers: answer.headers });
      });
    });
    sent.once('error', reject).end();
  });
}

describe('tiles', () => {
  it('are bytes, for auditors of the tenant alone', async () => {
    for (const base of ['/v1/log', '/v1/log/~default']) {
      const full = await get(`${base}/tile/0/000`, 'auditor');
      expect(full).toMatchObject({ status: 200, bytes: Buffer.from(hashesOf('default', 256)) });
      expect(full.headers).toMatchObject({
        'content-type': 'application/octet-stream',
        'cache-control': 'private, max-age=31536000, immutable',
        vary: 'authorization',
      });
      const entries = await get(`${base}/tile/entries/001.p/44`, 'auditor');
      expect(entries.bytes.equals(formatEntries(entriesOf('default', 44)))).toBe(true);
      expect(entries.headers['cache-control']).toBe('no-cache');
      expect((await get(`${base}/tile/0/001.p/3`, 'auditor')).bytes).toHaveLength(3 * hashBytes);
      expect((await get(`${base}/tile/0/000`, 'admin')).status).toBe(403);
      expect((await get(`${base}/tile/0/000`, null)).status).toBe(401);
      expect((await get(`${base}/checkpoint`, 'auditor')).bytes.toString()).toBe(note);
    }
  });

  it('have a tag, by which a repeat is answered without them', async () => {
    const { headers } = await get('/v1/log/tile/0/000', 'auditor');
    const again = await get('/v1/log/tile/0/000', 'auditor', world, { 'if-none-match': String(headers['etag']) });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    const newest = await get('/v1/log/~default/checkpoint', 'auditor');
    expect(newest.headers).toMatchObject({ etag: expect.any(String), 'cache-control': 'no-cache' });
  });

  it('come with the changes of the log key, which an older key of an auditor needs', async () => {
    for (const base of ['/v1/log', '/v1/log/~default']) {
      const changes = await get(`${base}/key-changes`, 'auditor');
      expect([changes.status, changes.bytes.toString()]).toEqual([200, '{"index":4}\n']);
      expect((await get(`${base}/key-changes`, 'admin')).status).toBe(403);
      expect((await get(`${base}/key-changes`, null)).status).toBe(401);
    }
    expect((await get('/v1/log/~other/key-changes', 'other')).status).toBe(404);
    expect((await get('/v1/log/~default/key-changes', 'auditor', without)).status).toBe(409);
  });

  it('of another tenant are never there', async () => {
    expect((await get('/v1/log/tile/0/000', 'other')).bytes.equals(hashesOf('other', 256))).toBe(true);
    for (const path of ['tile/0/000', 'tile/entries/000', 'checkpoint', 'key-changes'])
      expect((await get(`/v1/log/~default/${path}`, 'other')).status).toBe(404);
    expect((await get('/v1/log/~other/tile/0/000', 'auditor')).status).toBe(404);
    expect((await get('/v1/log/~nobody/tile/0/000', 'auditor')).status).toBe(404);
  });

  it.each([
    'tile/0/001',
    'tile/0/001.p/45',
    'tile/0/002.p/1',
    'tile/1/000.p/2',
    'tile/2/000.p/1',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/0',
    'tile/00/000',
    'tile/0/x000/000',
    'tile/0/x999/x999/x999/x999/x999/999',
    'tile/99999999999999999999/000',
    'tile/0/../0/000',
    'tile/0/%2e%2e/000',
    'tile/0/000/',
    'tile/%00/000',
    'tile/data/000',
    'tile/',
  ])('%s is not there', async (path) => {
    expect([404, 400]).toContain((await get(`/v1/log/${path}`, 'auditor')).status);
    expect([404, 400]).toContain((await get(`/v1/log/~default/${path}`, 'auditor')).status);
    expect([404, 400, 401]).toContain((await get(`/v1/log/~default/${path}`, null, open)).status);
  });

  it('are not there without a tree', async () => {
    for (const path of ['tile/0/000', '~default/tile/0/000', '~default/checkpoint'])
      expect((await get(`/v1/log/${path}`, 'auditor', without)).status).toBe(409);
  });
});

describe('hashes that the operator opened', () => {
  it('need no token, and entries do', async () => {
    const tile = await get('/v1/log/~default/tile/0/000', null, open);
    expect(tile).toMatchObject({ status: 200, headers: { 'cache-control': 'public, max-age=31536000, immutable' } });
    expect((await get('/v1/log/~default/tile/0/001.p/44', null, open)).status).toBe(200);
    expect((await get('/v1/log/~a%20b/checkpoint', null, open)).status).toBe(200);
    // It has an entry.
    expect((await get('/v1/log/~default/key-changes', null, open)).status).toBe(401);
    expect((await get('/v1/log/key-changes', null, open)).status).toBe(401);
    expect((await get('/v1/log/~a%2520b/tile/0/000', null, open)).bytes.equals(hashesOf('a b', 256))).toBe(true);
    for (const path of [
      '~default/tile/entries/000',
      '~default/tile/%65ntries/000',
      '~default/tile/0%2F000',
      'tile/0/000',
    ])
      expect((await get(`/v1/log/${path}`, null, open)).status).toBe(401);
    for (const path of ['~default/tile/0/000#/../../entries/000', '~default/tile/0/000/../../entries/000'])
      expect([400, 401, 404]).toContain((await get(`/v1/log/${path}`, null, open)).status);
    expect((await get('/v1/log/~default/tile/entries/000', 'other', open)).status).toBe(404);
    expect((await get('/v1/log/~default/tile/entries/000', 'auditor', open)).status).toBe(200);
  });
});
