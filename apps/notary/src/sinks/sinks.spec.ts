import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createGrowingTree,
  formatTilePath,
  leafHash,
  parseCheckpoint,
  parseEntries,
  parseNote,
} from '@countersign/audit';
import type { NewEvent } from '@countersign/contracts';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { Secret, systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createSeedSigner } from '../log-signer.js';
import { createNotary } from '../notary.js';
import { openCheckpointFile } from '../sqlite/checkpoint-file.js';
import { openTreeFile } from '../sqlite/tree-file.js';
import type { CheckpointMessage } from './announcer.js';
import { folderOf, pushLog } from './push-log.js';
import { openSinks } from './sink-settings.js';
import type { SinkSettings } from './sink-settings.js';
import type { Sink } from './sink.js';
import { createSinks } from './sinks.js';

const closes: (() => unknown)[] = [];
let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sinks-'));
});
afterEach(async () => {
  for (const close of closes.splice(0).reverse()) await close();
  rmSync(folder, { recursive: true });
});

async function record(log: SimulatedLog, count: number, tenant = 'acme'): Promise<void> {
  const store = createSimulatedEventStore({ clock: createVirtualClock(), log });
  for (let n = 0; n < count; n += 1) {
    const event: NewEvent = sampleEvent();
    const owned = { ...event, metadata: { ...event.metadata, tenant } };
    await store.append(`toolCall-${event.eventId}`, -1, [owned]);
  }
}

/** A notary with empty files of its own. */
function startNotary(log: SimulatedLog, seed = 7) {
  const clock = createVirtualClock();
  const notary = createNotary({
    ...{ trees: openTreeFile(':memory:'), checkpoints: openCheckpointFile(':memory:') },
    ...{ store: createSimulatedEventStore({ clock, log }), clock, origin: 'countersign.example' },
    ...{ signer: createSeedSigner(new Uint8Array(32).fill(seed)), acceptsContradiction: false, log: createSilentLog() },
  });
  notary.start();
  closes.push(notary.stop);
  return notary;
}

type Notary = ReturnType<typeof startNotary>;

function open(settings: SinkSettings): Sink {
  const [sink] = openSinks([settings], systemClock);
  if (sink === undefined || 'publish' in sink) throw new Error('no files');
  closes.push(sink.close);
  return sink;
}

const toFolder = (): Sink => open({ type: 'folder', folder });

async function push(sink: Sink, notary: Notary, tenant = 'acme') {
  const signing = await notary.sign(tenant);
  if (signing.status !== 'signed') throw new Error(JSON.stringify(signing));
  const { signal } = new AbortController();
  return pushLog(sink, { source: notary.source, tenant, note: signing.note, signal });
}

/** The size of a log in the folder of a sink, once every tile of entries and the root of them are compared. */
function sizeIn(of: string): number {
  const { size, root } = parseCheckpoint(parseNote(readFileSync(join(of, 'checkpoint'), 'utf8'))!.text)!;
  const tree = createGrowingTree();
  for (let index = 0; index * 256 < size; index += 1) {
    const name = { level: 'entries' as const, index, width: Math.min(256, size - index * 256) };
    for (const entry of parseEntries(readFileSync(join(of, formatTilePath(name))))!) tree.append(leafHash(entry));
  }
  expect(tree.root()).toEqual(root);
  return size;
}

const filesIn = (of: string): string[] =>
  readdirSync(of, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(of.length + 1))
    .sort();

it('gives a folder every tile and the checkpoint, for each tenant in a folder of its own, and goes on from there', async () => {
  const log = createSimulatedLog();
  await record(log, 300);
  await record(log, 3, '..');
  const notary = startNotary(log);
  expect(await push(toFolder(), notary)).toEqual({ status: 'pushed', given: 300 });
  expect(await push(toFolder(), notary, '..')).toEqual({ status: 'pushed', given: 3 });
  expect(sizeIn(join(folder, folderOf('..', 'x/../1')))).toBe(3);
  expect(readdirSync(folder)).toEqual(['acme', expect.stringMatching(/^~[0-9a-f]{32}$/)]);
  await record(log, 300);
  expect(await push(toFolder(), notary)).toEqual({ status: 'pushed', given: 600 });
  expect(sizeIn(join(folder, 'acme/1'))).toBe(600);
  expect(filesIn(join(folder, 'acme/1'))).toEqual([
    'checkpoint',
    'tile/0/000',
    'tile/0/001',
    'tile/0/001.p/44',
    'tile/0/002.p/88',
    'tile/1/000.p/1',
    'tile/1/000.p/2',
    'tile/entries/000',
    'tile/entries/001',
    'tile/entries/001.p/44',
    'tile/entries/002.p/88',
  ]);
});

it('finishes after a push that ended between two files', async () => {
  const log = createSimulatedLog();
  await record(log, 600);
  const notary = startNotary(log);
  const sink = toFolder();
  let left = 3;
  const putTile: Sink['putTile'] = async (...given) => {
    if ((left -= 1) < 0) throw new Error('killed');
    await sink.putTile(...given);
  };
  await expect(push({ ...sink, putTile }, notary)).rejects.toThrow('killed');
  expect(filesIn(folder)).not.toContain('acme/1/checkpoint');
  expect(await push(sink, notary)).toEqual({ status: 'pushed', given: 600 });
  expect(sizeIn(join(folder, 'acme/1'))).toBe(600);
});

it('never replaces a tile that differs, nor a checkpoint that is not one of its log', async () => {
  const log = createSimulatedLog();
  await record(log, 300);
  const notary = startNotary(log);
  await push(toFolder(), notary);
  const tile = join(folder, 'acme/1/tile/0/001');
  writeFileSync(tile, 'other bytes');
  await record(log, 300);
  await expect(push(toFolder(), notary)).rejects.toThrow('it has other bytes at acme/1/tile/0/001');
  expect(readFileSync(tile, 'utf8')).toBe('other bytes');
  rmSync(tile);
  writeFileSync(join(folder, 'acme/1/checkpoint'), 'other bytes');
  await expect(push(toFolder(), notary)).rejects.toThrow('its checkpoint is not one of this log');
  expect(readFileSync(join(folder, 'acme/1/checkpoint'), 'utf8')).toBe('other bytes');
});

it.each([
  ['shorter', 250],
  ['as long', 300],
  ['longer', 350],
])(
  'finds a rewritten log that is %s, although every file of the notary is lost, by the checkpoint of a sink',
  async (_, size) => {
    const honest = createSimulatedLog();
    await record(honest, 300);
    await push(toFolder(), startNotary(honest));
    const kept = readFileSync(join(folder, 'acme/1/checkpoint'), 'utf8');
    const rewritten = createSimulatedLog();
    await record(rewritten, size);
    const notary = startNotary(rewritten);
    await expect(push(toFolder(), notary)).rejects.toThrow('was signed with the key of this log');
    expect((await notary.sign('acme')).status).toBe('rewound');
    expect(notary.health()).toMatchObject({ status: 'rewound' });
    expect(notary.source.newest('acme')).toBeUndefined();
    expect(readFileSync(join(folder, 'acme/1/checkpoint'), 'utf8')).toBe(kept);
  },
);

it('does not believe a checkpoint in a sink that another key signed', async () => {
  const log = createSimulatedLog();
  await record(log, 300);
  await push(toFolder(), startNotary(log, 8));
  const other = createSimulatedLog();
  await record(other, 300);
  const notary = startNotary(other);
  await expect(push(toFolder(), notary)).rejects.toThrow('has no signature of the key of this log');
  expect((await notary.sign('acme')).status).toBe('signed');
});

it('pushes to each sink while another one is away, which gets everything later, and says so', async () => {
  const log = createSimulatedLog();
  await record(log, 300);
  const notary = startNotary(log);
  await notary.sign('acme');
  const clock = createVirtualClock();
  const lines = createCollectingLog();
  let isAway = true;
  const there = toFolder();
  const second = open({ type: 'folder', folder: join(folder, 'second') });
  const away: Sink = {
    ...second,
    name: 'away',
    read: (path) => (isAway ? Promise.reject(new Error('ECONNREFUSED')) : second.read(path)),
  };
  const sinks = createSinks({
    ...{ sinks: [away, there], source: notary.source, isActive: () => true, clock, log: lines },
  });
  sinks.start();
  const until = async (isDone: () => boolean): Promise<void> => {
    for (let tries = 0; tries < 5000 && !isDone(); tries += 1) {
      await clock.advanceAsync(200);
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    expect(isDone()).toBe(true);
  };
  await until(() => sinks.states()[1]!.lag === 0);
  expect(sinks.states()[0]).toMatchObject({ name: 'away', lag: 300, problem: 'ECONNREFUSED', isAlarm: false });
  isAway = false;
  await until(() => sinks.states()[0]!.lag === 0);
  expect(sinks.states()[0]).toMatchObject({ problem: undefined, behindSinceMs: undefined });
  await record(log, 10);
  await notary.sign('acme');
  await sinks.stop();
  expect([sizeIn(join(folder, 'acme/1')), sizeIn(join(folder, 'second/acme/1'))]).toEqual([310, 310]);
});

it('stops although a sink never answers', async () => {
  const log = createSimulatedLog();
  await record(log, 3);
  const notary = startNotary(log);
  await notary.sign('acme');
  const clock = createVirtualClock();
  const hanging: Sink = { ...toFolder(), read: () => new Promise(() => undefined) };
  const sinks = createSinks({
    ...{ sinks: [hanging], source: notary.source, isActive: () => true, clock, log: createSilentLog() },
  });
  sinks.start();
  let isStopped = false;
  void sinks.stop().then(() => (isStopped = true));
  for (let seconds = 0; seconds < 7; seconds += 1) await clock.advanceAsync(1_000);
  expect(isStopped).toBe(true);
});

/** A server that stores files, as a bucket or an address does. */
async function openFiles() {
  const files = new Map<string, Buffer>();
  const seen: { method: string; path: string; headers: NodeJS.Dict<string | string[]> }[] = [];
  const server = createServer((request, response) => {
    const { method = '', url: path = '', headers } = request;
    seen.push({ method, path, headers });
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const found = files.get(path);
      if (method === 'GET') response.writeHead(found === undefined ? 404 : 200).end(found);
      else if (headers['if-none-match'] === '*' && found !== undefined) response.writeHead(412).end();
      else {
        files.set(path, Buffer.concat(chunks));
        response.writeHead(201).end();
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  closes.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { files, seen, url: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}` };
}

it('publishes each checkpoint with the tenant as its key', async () => {
  const log = createSimulatedLog();
  await record(log, 3);
  const notary = startNotary(log);
  const signing = await notary.sign('acme');
  const published: CheckpointMessage[] = [];
  const publish = (message: CheckpointMessage): Promise<void> => {
    published.push(message);
    return Promise.resolve();
  };
  const [sink] = openSinks([{ type: 'kafka' }], systemClock, publish);
  const sinks = createSinks({
    ...{ sinks: [sink!], source: notary.source, isActive: () => true, clock: systemClock, log: createSilentLog() },
  });
  sinks.start();
  await sinks.stop();
  expect(published).toEqual([
    {
      ...{ key: 'acme', value: signing.status === 'signed' ? signing.note : '' },
      headers: expect.objectContaining({ ce_type: 'CheckpointSigned', ce_subject: 'countersign.example/acme/1' }),
    },
  ]);
  expect(() => openSinks([{ type: 'kafka' }], systemClock)).toThrow('has no Kafka');
});

it('puts files at an address with its headers, and refuses a private one unless it is allowed', async () => {
  const { files, seen, url } = await openFiles();
  const log = createSimulatedLog();
  await record(log, 300, 'a/b');
  const notary = startNotary(log);
  const settings = { type: 'https', url: new URL(`${url}/log`), headers: { 'x-key': new Secret('hidden') } } as const;
  await expect(push(open({ ...settings, allowPrivateNetwork: false }), notary, 'a/b')).rejects.toThrow(
    'private network',
  );
  expect(seen).toEqual([]);
  const sink = open({ ...settings, allowPrivateNetwork: true });
  expect(await push(sink, notary, 'a/b')).toEqual({ status: 'pushed', given: 300 });
  expect([...files.keys()].sort()).toContain('/log/a%252Fb/1/tile/entries/000');
  expect(seen.every(({ headers }) => headers['x-key'] === 'hidden')).toBe(true);
  files.set('/log/a%252Fb/1/tile/0/001', Buffer.from('other bytes'));
  await record(log, 300, 'a/b');
  await expect(push(sink, notary, 'a/b')).rejects.toThrow('it has other bytes');
});

it('signs what it puts into a bucket, under the lock that was asked for', async () => {
  const { seen, url } = await openFiles();
  const log = createSimulatedLog();
  await record(log, 3);
  const credentials = { accessKeyId: 'AKID', secretAccessKey: new Secret('hidden'), sessionToken: null };
  const sink = open({
    ...{ type: 's3', bucket: 'logs', prefix: '/ledger/', endpoint: new URL(url), region: 'eu-central-1', credentials },
    ...{ objectLock: { mode: 'compliance', days: 10 }, allowPrivateNetwork: true },
  });
  await push(sink, startNotary(log));
  const put = seen.find(({ method, path }) => method === 'PUT' && path === '/logs/ledger/acme/1/checkpoint')!;
  expect(put.headers['authorization']).toMatch(/^AWS4-HMAC-SHA256 Credential=AKID\/[0-9]{8}\/eu-central-1\/s3\//);
  const tile = seen.find(({ path }) => path === '/logs/ledger/acme/1/tile/0/000.p/3')!;
  expect(tile).toMatchObject({
    method: 'PUT',
    headers: { 'x-amz-object-lock-mode': 'COMPLIANCE', 'if-none-match': '*' },
  });
  const untilMs = Date.parse(String(tile.headers['x-amz-object-lock-retain-until-date']));
  expect(untilMs - Date.now()).toBeGreaterThan(9 * 86_400_000);
  expect(String(tile.headers['authorization'])).toContain('x-amz-object-lock-mode');
});

it('goes on as the next epoch, on purpose, although a sink has another log of the epoch before', async () => {
  const [kept, forged] = [createSimulatedLog(), createSimulatedLog()];
  await record(kept, 5);
  await push(toFolder(), startNotary(kept));
  await record(forged, 5);
  await record(forged, 3, 'globex');
  const notary = startNotary(forged);
  await expect(push(toFolder(), notary)).rejects.toThrow('contradicts this log');
  await expect(notary.sign('acme')).resolves.toMatchObject({ status: 'rewound' });
  // The finding is only in memory: that another tenant goes on must not lose it.
  await notary.goOn('globex');
  expect(notary.rewound('acme')).toBeDefined();
  expect(notary.rewound('globex')).toBeUndefined();
  await expect(notary.goOn('acme')).resolves.toEqual({
    status: 'signed',
    note: expect.stringContaining('/acme/2\n5\n'),
  });
  expect(await push(toFolder(), notary)).toEqual({ status: 'pushed', given: 5 });
  expect(readdirSync(join(folder, 'acme'))).toEqual(['1', '2']);
});
