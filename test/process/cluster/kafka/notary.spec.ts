import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  formatNote,
  formatVkey,
  parseCheckpoint,
  parseNote,
  parseVkey,
  readKeyChanges,
  verifyNote,
} from '@countersign/audit';
import { makeAuthority, serveAuthority } from '@countersign/timestamps/testing';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../ports.js';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { createKafkaClient } from '../../harness/kafka-client.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { readTopic } from '../faults/topic-reader.js';
import { readinessOf } from '../roles.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

type Settings = Readonly<Record<string, string>>;

/** A gateway, and notaries that have one log key, each with a port of its own. */
async function openCluster() {
  const cluster = await openReachCluster({ env: {} });
  const secrets = temporaryFolder();
  const file = (name: string, text: string): string => {
    writeFileSync(join(secrets, name), text, { mode: 0o600 });
    return join(secrets, name);
  };
  const ports = [String(await freePort()), String(await freePort())] as const;
  const token = file('token', `${'a-token-of-the-gateways'.padEnd(40, '-')}\n`);
  const newKey = (name: string): string =>
    file(name, generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }));
  const settings = {
    COUNTERSIGN_NOTARY_TOKEN_FILE: token,
    COUNTERSIGN_LOG_KEY_FILE: newKey('log-key.pem'),
    COUNTERSIGN_LOG_ORIGIN: 'countersign.example',
    COUNTERSIGN_LOG_SINKS: `[{ folder: ${JSON.stringify(join(secrets, 'sink'))} }, { kafka: true }]`,
  };
  const inSink = (): string | undefined => {
    const checkpoint = join(secrets, 'sink', 'default', '1', 'checkpoint');
    return existsSync(checkpoint) ? readFileSync(checkpoint, 'utf8') : undefined;
  };
  const published = async () => {
    const kafka = createKafkaClient({ brokers: [...cluster.brokers] });
    return readTopic(kafka, `${cluster.topicPrefix}.checkpoints.v1`);
  };
  const { server: gateway } = await cluster.start('gateway', {
    COUNTERSIGN_NOTARY_TOKEN_FILE: token,
    COUNTERSIGN_NOTARY_URL: ports.map((port) => `http://127.0.0.1:${port}`).join(','),
  });
  await cluster.untilReady(gateway);
  const startNotary = async (nth: 0 | 1, data: string, more: Settings = {}): Promise<Server> => {
    const own = { COUNTERSIGN_NOTARY_PORT: ports[nth], COUNTERSIGN_DATA: data };
    return (await cluster.start('notary', { ...settings, ...own, ...more })).server;
  };
  const send = (method: 'GET' | 'POST', path: string, body?: object) =>
    gateway.http.send({ method, path, token: path === '/v1/tool-calls' ? 'agent-token' : 'ann-token', body });
  let requests = 0;
  const request = async (): Promise<void> => {
    requests += 1;
    const call = { toolCallId: 'call', toolName: 'delete_file', arguments: {}, needsApproval: true };
    await send('POST', '/v1/tool-calls', { runId: `run-${String(requests)}`, calls: [call] });
  };
  const logKey = settings.COUNTERSIGN_LOG_KEY_FILE;
  return { ...cluster, startNotary, send, request, newKey, logKey, inSink, published };
}

test('a cluster signs one growing log, whatever write its notaries are killed at', async () => {
  const { startNotary, send, request, untilReady, newKey, inSink, published } = await openCluster();
  await request();
  expect(await send('GET', '/v1/log/checkpoint')).toMatchObject({
    status: 503,
    body: { code: 'unavailable', detail: expect.stringContaining('no notary of the cluster answers') },
  });
  const folder = temporaryFolder();
  const sizes: number[] = [];
  for (const point of ['notary.signed', 'notary.shared', 'notary.kept', 'notary.sink-tile', 'notary.sink-tiles']) {
    const dying = await startNotary(0, folder, { COUNTERSIGN_CRASH_AT: `${point}:1` });
    expect((await dying.exited).signal).toBe('SIGKILL');
    await request();
  }
  const [one, two] = [await startNotary(0, folder), await startNotary(1, temporaryFolder())];
  const sign = () =>
    eventually('a checkpoint', async () => {
      const { status, text } = await send('POST', '/v1/log/checkpoint');
      return status === 200 ? text : undefined;
    });
  const [vkey = ''] = (
    await eventually('keys', async () => {
      const { status, text } = await send('GET', '/v1/log/vkey?all=true');
      return status === 200 ? text : undefined;
    })
  ).split('\n');
  const keep = async (): Promise<void> => {
    const note = parseNote(await sign())!;
    expect(verifyNote(note, [parseVkey(vkey)!]).verified).toHaveLength(1);
    sizes.push(parseCheckpoint(note.text)!.size);
    const text = formatNote(note);
    await eventually('the checkpoint in the folder', () => Promise.resolve(inSink() === text ? true : undefined));
    await eventually('the checkpoint on the topic', async () =>
      (await published()).some(({ key, value }) => key === 'default' && value?.toString() === text) ? true : undefined,
    );
  };
  await keep();
  await untilReady(two);
  const notes = async (server: Server) => JSON.stringify((await readinessOf(server))?.body ?? null);
  const isActive = (await notes(one)).includes('signs checkpoints');
  await request();
  await (isActive ? one : two).stop();
  await keep();
  expect(sizes[1]).toBeGreaterThan(sizes[0]!);
  expect((await send('GET', '/v1/log/tile/0/000.p/1')).status).toBe(200);
  // Another key signs nothing.
  await (isActive ? two : one).stop();
  const other = await startNotary(0, temporaryFolder(), { COUNTERSIGN_LOG_KEY_FILE: newKey('other-key.pem') });
  const why = await eventually('the notary with another key to say so', async () => {
    const said = await notes(other);
    return said.includes('another log key') ? said : undefined;
  });
  expect(why).toContain('notary');
}, 240_000);

test('notaries replace the log key, whatever write they are killed at, and prove it to who has the old key', async () => {
  const { startNotary, send, request, untilReady, newKey, logKey } = await openCluster();
  const linesOf = (path: string, method: 'GET' | 'POST' = 'GET') =>
    eventually(path, async () => {
      const { status, text } = await send(method, path);
      return status === 200 ? text.trimEnd().split('\n') : undefined;
    });
  await request();
  const folder = temporaryFolder();
  const first = await startNotary(0, folder);
  await linesOf('/v1/log/checkpoint', 'POST');
  const before = await linesOf('/v1/log/vkey?all=true');
  const [old = ''] = before;
  await first.stop();
  const rotating = {
    COUNTERSIGN_LOG_KEY_FILE: newKey('next-key.pem'),
    COUNTERSIGN_LOG_KEY_PREVIOUS: logKey,
  };
  for (const point of ['notary.key-recorded', 'notary.key-signed', 'notary.signed', 'notary.shared']) {
    const dying = await startNotary(0, folder, { ...rotating, COUNTERSIGN_CRASH_AT: `${point}:1` });
    expect((await dying.exited).signal).toBe('SIGKILL');
  }
  const [one, two] = [await startNotary(0, folder, rotating), await startNotary(1, temporaryFolder(), rotating)];
  await untilReady(one);
  await untilReady(two);
  // An ML-DSA-44 key follows each Ed25519 key.
  const [next = '', nextSecond = '', ...older] = await linesOf('/v1/log/vkey?all=true');
  expect([older, older.length]).toEqual([before, 2]);
  const changes = readKeyChanges(await linesOf('/v1/log/key-changes'));
  expect(changes.map(({ before, after }) => [formatVkey(before), formatVkey(after)])).toEqual([[old, next]]);
  await request();
  const note = parseNote((await linesOf('/v1/log/checkpoint', 'POST')).join('\n').concat('\n'))!;
  expect(
    verifyNote(
      note,
      [next, nextSecond].map((vkey) => parseVkey(vkey)!),
    ).verified,
  ).toHaveLength(2);
  expect(
    verifyNote(
      note,
      before.map((vkey) => parseVkey(vkey)!),
    ).verified,
  ).toEqual([]);
}, 600_000);

test('notaries get one time stamp of each checkpoint that is due, whichever of them is killed', async () => {
  const authority = makeAuthority();
  onCleanup(authority.remove);
  const served = await serveAuthority(authority);
  onCleanup(served.close);
  const { startNotary, send, request, untilReady } = await openCluster();
  const stamping = {
    ...{ COUNTERSIGN_TSA_URL: served.url, COUNTERSIGN_TSA_CA: authority.rootFile, COUNTERSIGN_TSA_PRIVATE: 'true' },
    COUNTERSIGN_TSA_INTERVAL_MS: '1000',
  };
  await request();
  const folders = [temporaryFolder(), temporaryFolder()] as const;
  // The authority gave the first time stamp, and nothing kept it.
  const dying = await startNotary(0, folders[0], { ...stamping, COUNTERSIGN_CRASH_AT: 'notary.stamped:1' });
  expect((await dying.exited).signal).toBe('SIGKILL');
  const notaries = [await startNotary(0, folders[0], stamping), await startNotary(1, folders[1], stamping)] as const;
  for (const one of notaries) await untilReady(one);
  const stamped = async (): Promise<readonly StampLine[]> => {
    const { status, text } = await send('GET', '/v1/log/timestamps');
    return status === 200 ? linesIn(text).map((line) => JSON.parse(line) as StampLine) : [];
  };
  /** Signs a checkpoint, and waits until it, or a later one, has a time stamp. */
  const stampedAfterRequest = async (): Promise<void> => {
    await request();
    const size = await eventually('a checkpoint', async () => {
      const { status, text } = await send('POST', '/v1/log/checkpoint');
      return status === 200 ? parseCheckpoint(parseNote(text)!.text)!.size : undefined;
    });
    await eventually(`a time stamp of ${String(size)} events`, async () =>
      (await stamped()).some((one) => one.size >= size) ? true : undefined,
    );
  };
  await stampedAfterRequest();
  const isSigning = async (one: Server) =>
    JSON.stringify((await readinessOf(one))?.body ?? null).includes('signs check');
  const active = (await isSigning(notaries[0])) ? 0 : 1;
  await notaries[active].stop('SIGKILL');
  await stampedAfterRequest();
  const again = await startNotary(active, folders[active], stamping);
  await untilReady(again);
  await notaries[1 - active]?.stop();
  await stampedAfterRequest();
  const all = await stamped();
  for (const { checkpoint, timestamp } of all) {
    expect(() => authority.verify(Buffer.from(timestamp, 'base64'), checkpoint)).not.toThrow();
  }
  const sizes = all.map(({ size }) => size);
  expect(new Set(sizes).size).toBe(sizes.length);
  // The one that was lost by the kill is the only one that was asked for twice.
  expect(served.queries.length).toBe(all.length + 1);
}, 600_000);

/** A line of `GET /v1/log/timestamps`. */
interface StampLine {
  readonly size: number;
  readonly checkpoint: string;
  readonly timestamp: string;
}

const linesIn = (text: string): readonly string[] => text.split('\n').filter((line) => line !== '');
