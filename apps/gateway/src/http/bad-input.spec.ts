import { connect } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

interface Refusal {
  readonly code: string;
  readonly errors?: readonly { readonly path: string }[];
}

let world: World;
let api: Api;
let head = 0;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  await api.pending();
});
afterAll(() => world.close());

beforeEach(async () => {
  head = await world.store.head();
});
afterEach(async () => {
  // For every input: the process stays alive, and nothing is recorded.
  expect((await api.send('GET', '/readyz', { as: null })).status).toBe(200);
  expect(await world.store.head()).toBe(head);
});

const post = (raw: string | Uint8Array<ArrayBuffer>, headers = {}): Promise<Reply<Refusal>> =>
  api.send<Refusal>('POST', '/v1/tool-calls', { raw, headers });
const call = { toolCallId: 'c', toolName: 't', arguments: {} };
const text = (args: string) => `{"runId":"r","calls":[{"toolCallId":"c","toolName":"t","arguments":${args}}]}`;
const pathsOf = ({ body }: Reply<Refusal>) => body.errors?.map(({ path }) => path);
const nested = (levels: number) => `{"a":${'['.repeat(levels)}${']'.repeat(levels)}}`;

describe('a body that another parser would read otherwise', () => {
  it.each([
    ['a duplicate key', '{"to":"a","to":"b"}', 'calls.0.arguments.to'],
    ['a duplicate key behind an escape', '{"to":"a","\\u0074o":"b"}', 'calls.0.arguments.to'],
    ['an integer of 2^53', '{"n":9007199254740992}', 'calls.0.arguments.n'],
    ['an integer of 20 digits', '{"n":[12345678901234567890]}', 'calls.0.arguments.n.0'],
    ['an overflow', '{"n":1e999}', 'calls.0.arguments.n'],
    ['a lost digit', '{"n":0.12345678901234567890123}', 'calls.0.arguments.n'],
    ['__proto__', '{"__proto__":{"admin":true}}', 'calls.0.arguments.__proto__'],
    [
      'constructor.prototype',
      '{"constructor":{"prototype":{"admin":true}}}',
      'calls.0.arguments.constructor.prototype',
    ],
    ['a lone surrogate', '{"s":"\\ud800"}', 'calls.0.arguments.s'],
  ])('%s is refused by its path', async (_what, args, path) => {
    const reply = await post(text(args));
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid-request']);
    expect(pathsOf(reply)).toEqual([path]);
    expect(({} as Record<string, unknown>)['admin']).toBeUndefined();
  });

  it.each([
    ['true', ''],
    ['[]', ''],
    ['{"type":"object","type":"string"}', '.type'],
    ['{"properties":{"__proto__":{"sensitive":true}}}', '.properties.__proto__'],
  ])('the schema %s is refused by a path that names its call', async (schema, within) => {
    const reply = await post(text(`{},"toolSchema":${schema}`));
    expect([reply.status, pathsOf(reply)]).toEqual([400, [`calls.0.toolSchema${within}`]]);
  });

  it.each([
    ['nested 5,000 levels', text(nested(5000))],
    ['nested 70 levels', text(nested(70))],
    ['a million open brackets', '['.repeat(1_000_000)],
    ['broken', '{"runId":"r",'],
    ['with a trailing comma', '{"runId":"r",}'],
    ['two values', '{} {}'],
    ['a byte order mark', '\ufeff{}'],
    ['NaN', '{"runId":NaN}'],
    ['a single quote', "{'runId':'r'}"],
    ['empty', ''],
    ['blank', '  \n'],
    ['null', 'null'],
    ['a number', '42'],
    ['an array', '[]'],
    ['a string', '"runId"'],
  ])('%s', async (_what, raw) => {
    const { status, body } = await post(raw);
    expect([status, body.code]).toEqual([400, 'invalid-request']);
  });

  it.each([
    ['a broken sequence', [0xc3, 0x28]],
    ['an encoded surrogate', [0xed, 0xa0, 0x80]],
    ['an overlong slash', [0xc0, 0xaf]],
    ['UTF-16', [0xff, 0xfe, 0x7b, 0x00]],
  ])('no UTF-8: %s', async (_what, bytes) => {
    // With lenient decoding, all but the last would be valid requests.
    const [before = '', after = ''] = text('{"s":"|"}').split('|');
    const { status, body } = await post(
      Uint8Array.from(Buffer.concat([Buffer.from(before), Buffer.from(bytes), Buffer.from(after)])),
    );
    expect([status, body.code]).toEqual([400, 'invalid-request']);
  });
});

describe('unknown members', () => {
  it('are named path by path, each unknown field by itself', async () => {
    const reply = await api.send<Refusal>('POST', '/v1/tool-calls', {
      body: {
        extra: 1,
        more: 2,
        runId: '',
        batchMode: 'maybe',
        calls: [{ ...call, when: 1, labels: { a: 1 } }, { toolName: 5 }],
      },
    });
    expect(reply.status).toBe(400);
    expect([...new Set(pathsOf(reply))].sort()).toEqual(
      [
        'extra',
        'more',
        'runId',
        'batchMode',
        'calls.0.when',
        'calls.0.labels.a',
        'calls.1.toolCallId',
        'calls.1.toolName',
        'calls.1.arguments',
      ].sort(),
    );
  });

  it.each([
    ['GET', '/v1/approvals?colour=red&state=open&limit=0', 'ann', ['state', 'limit', 'colour']],
    ['GET', '/v1/approvals?limit=2&limit=3', 'ann', ['limit']],
    ['GET', '/v1/tool-calls/tc_x?waitMs=soon&until=never', 'agent', ['waitMs', 'until']],
    ['GET', '/v1/runs/r?verbose=1', 'agent', ['verbose']],
    ['GET', '/v1/events?after=-1&since=0', 'agent', ['after', 'since']],
    ['GET', '/v1/events?types=ToolCallRequested,Nonsense', 'agent', ['types']],
    ['GET', '/v1/audit/events?limit=x', 'auditor', ['limit']],
    ['GET', '/v1/audit/tool-calls/tc_x/events?asOf=yesterday', 'auditor', ['asOf']],
    ['POST', '/v1/tool-calls?dryRun=true', 'agent', ['dryRun']],
  ])('%s %s', async (method, path, as, paths) => {
    const body = method === 'POST' ? { body: { runId: 'r', calls: [call] } } : {};
    const reply = await api.send<Refusal>(method, path, { as, ...body });
    expect([reply.status, reply.body.code]).toEqual([400, 'invalid-request']);
    expect(pathsOf(reply)).toEqual(paths);
  });

  it.each([
    ['Countersign-Position', 'soon', '/v1/runs/r'],
    ['Last-Event-ID', 'x', '/v1/events'],
  ])('a header %s: %s', async (name, value, path) => {
    const reply = await api.send<Refusal>('GET', path, { headers: { [name]: value } });
    expect([reply.status, pathsOf(reply)]).toEqual([400, [name]]);
  });

  it('an idempotency key of 256 characters', async () => {
    const reply = await post(text('{}'), { 'idempotency-key': 'k'.repeat(256) });
    expect([reply.status, pathsOf(reply)]).toEqual([400, ['Idempotency-Key']]);
  });
});

/** Dropped bytes still count until they are collected. */
const keptBytes = (): number => {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
  return process.memoryUsage().arrayBuffers;
};

/** The engine frees collected buffers in the background, so the figure falls a moment after the collection. */
async function untilKept(isFew: (bytes: number) => boolean): Promise<void> {
  const giveUpAt = performance.now() + 100_000;
  while (!isFew(keptBytes())) {
    if (performance.now() > giveUpAt) throw new Error(`${keptBytes()} bytes are kept`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

it('says of a wrong value what it must be, and of a missing one that it is missing', async () => {
  const body = { calls: [{ ...call, expiresInMs: '1h' }] };
  const reply = await api.send<Refusal>('POST', '/v1/tool-calls', { body });
  const problems = (reply.body as unknown as { errors: readonly { path: string; message: string }[] }).errors;
  expect(problems.toSorted((one, other) => (one.path < other.path ? -1 : 1))).toEqual([
    { path: 'calls.0.expiresInMs', message: 'must be a whole number of milliseconds, at most 10 years, or "never"' },
    { path: 'runId', message: 'is missing' },
  ]);
});

describe('input above a limit', () => {
  const big = (kib: number) => 'x'.repeat(kib * 1024);

  it('a call’s arguments beyond 256 KiB', async () => {
    const calls = [call, { ...call, toolCallId: 'd', arguments: { blob: big(256) } }];
    const reply = await api.send<Refusal>('POST', '/v1/tool-calls', { body: { runId: 'r', calls } });
    expect([reply.status, reply.body.code, pathsOf(reply)]).toEqual([413, 'payload-too-large', ['calls.1.arguments']]);
  });

  it('edited arguments beyond 256 KiB', async () => {
    const body = { decision: { type: 'edit', arguments: { blob: big(256) } } };
    const reply = await api.send<Refusal>('POST', '/v1/approvals/apr_x/responses', { as: 'ann', body });
    expect([reply.status, reply.body.code, pathsOf(reply)]).toEqual([413, 'payload-too-large', ['decision.arguments']]);
  });

  it('arguments that are short as they are sent, and long as they are recorded', async () => {
    const body = `{"runId":"r","calls":[{"toolCallId":"d","toolName":"send","arguments":{"n":[${'1e15,'.repeat(40_000)}1]}}]}`;
    const reply = await post(text(body));
    expect([reply.status, reply.body.code]).toEqual([413, 'payload-too-large']);
  });

  it('an output of more than 768 KiB, in an answer, a report and the result of a client', async () => {
    const output = big(768);
    const answers = [
      ['ann', '/v1/approvals/apr_x/responses', { decision: { type: 'answer', output } }, 'decision.output'],
      [
        'ann',
        '/v1/approvals/responses',
        { approvalIds: ['a'], decision: { type: 'answer', output } },
        'decision.output',
      ],
      ['worker', '/v1/tool-calls/tc_x/outcome', { attempt: 1, status: 'succeeded', output }, 'output'],
      ['worker', '/v1/tool-calls/tc_x/outcome', { attempt: 1, status: 'failed', error: { output } }, 'error'],
      ['agent', '/v1/tool-calls/tc_x/output', { status: 'succeeded', output }, 'output'],
    ] as const;
    for (const [as, path, body, at] of answers) {
      const reply = await api.send<Refusal>('POST', path, { as, body });
      expect([reply.status, reply.body.code, pathsOf(reply)]).toEqual([413, 'payload-too-large', [at]]);
    }
  });

  it('more than 256 calls', async () => {
    const calls = Array.from({ length: 257 }, (_, index) => ({ ...call, toolCallId: `c${index}` }));
    const reply = await api.send<Refusal>('POST', '/v1/tool-calls', { body: { runId: 'r', calls } });
    expect([reply.status, reply.body.code, pathsOf(reply)]).toEqual([413, 'payload-too-large', ['calls']]);
  });

  it('a body beyond 4 MiB', async () => {
    const { status, body } = await post(text(`{"blob":"${big(4096)}"}`));
    expect([status, body.code]).toEqual([413, 'payload-too-large']);
  });

  it.each([
    ['whose length is told', `content-length: ${20 * 1024 * 1024}`],
    ['in chunks', 'transfer-encoding: chunked'],
  ])('a body of 20 MB %s is not taken in', async (_what, framing) => {
    const before = keptBytes();
    const answer = await sendMuch(Number(new URL(world.url).port), framing, 20);
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(answer).toContain('"code":"payload-too-large"');
    await untilKept((bytes) => bytes - before < 15 * 1024 * 1024);
  });

  it('is told to a client that sends everything before it listens', async () => {
    const raw = new Uint8Array(20 * 1024 * 1024).fill(32);
    for (let n = 0; n < 10; n += 1) expect((await post(raw)).body.code).toBe('payload-too-large');
  });
});

describe('parts of HTTP that this API does not support', () => {
  it.each([
    ['PUT', '/v1/tool-calls', 'POST, GET, HEAD'],
    ['GET', '/v1/tool-calls/tc_x/cancel', 'POST'],
    ['PATCH', '/v1/approvals/apr_x', 'GET, HEAD'],
    ['DELETE', '/v1/approvals/apr_x/responses', 'POST'],
    ['POST', '/v1/events', 'GET, HEAD'],
    ['OPTIONS', '/v1/approvals', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
  ])('%s %s allows %s', async (method, path, allow) => {
    const { status, headers, body } = await api.send<Refusal>(method, path);
    expect([status, headers.get('allow'), body.code]).toEqual([405, allow, 'method-not-allowed']);
  });

  it.each([
    '/v1',
    '/v1/',
    '/v2/tool-calls',
    '/v1/tool-calls/',
    '/v1//tool-calls',
    '/V1/approvals',
    '/v1/tool-calls/a/b/c',
    '/v1/runs/',
  ])('%s is nothing', async (path) => {
    const { status, body } = await api.send<Refusal>('GET', path);
    expect([status, body.code]).toEqual([404, 'not-found']);
  });

  it.each([
    'text/plain',
    'application/x-www-form-urlencoded',
    'multipart/form-data; boundary=x',
    'application/xml',
    'nonsense',
    'application/jsonx',
  ])('a body of %s is refused', async (type) => {
    const { status, body } = await post(text('{}'), { 'content-type': type });
    expect([status, body.code]).toEqual([415, 'unsupported-media-type']);
  });

  it.each(['/v1/runs/%', '/v1/runs/%zz', '/v1/runs/%e0%80%80', `/v1/runs/${'x'.repeat(5000)}`])(
    'the path %s',
    async (path) => {
      const { status } = await api.send('GET', path);
      expect([400, 404]).toContain(status);
    },
  );

  it('bytes that are no HTTP get a problem and the end of the connection', async () => {
    const answer = await sendBytes(Number(new URL(world.url).port), 'NONSENSE\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1.1 400 /);
    expect(answer).toContain('"code":"invalid-request"');
  });
});

describe('anything at all', () => {
  const routes = [
    '/v1/tool-calls',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/approvals',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/cancel',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/claim',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/claim/renew',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/outcome',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/output',
    '/v1/tool-calls/tc_aaaaaaaaaaaaaaaaaaaaaaaaaa/reconcile',
    '/v1/approvals/apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1/responses',
    '/v1/approvals/responses',
    '/v1/runs/none/cancel',
  ];
  const names = [
    'runId',
    'calls',
    'decision',
    'type',
    'arguments',
    'reason',
    'attempt',
    'status',
    'output',
    'approvalIds',
    'note',
    'x',
  ];
  const body = fc.oneof(
    fc.dictionary(fc.constantFrom(...names), fc.jsonValue({ maxDepth: 4 })).map((value) => JSON.stringify(value)),
    fc.json(),
    fc.string({
      unit: fc.constantFrom('{', '}', '[', ']', '"', ':', ',', '\\', 'u', '0', 'e', '1', '-', ' '),
      maxLength: 40,
    }),
  );

  it('is answered, and never by a 5xx', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...routes), body, async (path, raw) => {
        const { status } = await api.send('POST', path, { as: 'other', raw });
        expect(status).toBeGreaterThanOrEqual(200);
        expect(status).toBeLessThan(500);
      }),
      { numRuns: 300 },
    );
    head = await world.store.head();
  });
});

/** Sends a long body in chunks until the server responds, like a client that reads while it sends. */
function sendMuch(port: number, framing: string, mebibytes: number): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let received = '';
    let left = mebibytes * 16;
    const piece = Buffer.alloc(64 * 1024, 'x');
    const isChunked = framing.includes('chunked');
    const send = (): void => {
      while (left > 0 && !socket.destroyed) {
        left -= 1;
        if (isChunked) socket.write(`${piece.length.toString(16)}\r\n`);
        const isTaken = socket.write(piece);
        if (isChunked) socket.write('\r\n');
        if (!isTaken) return;
      }
    };
    socket.on('drain', send);
    socket.on('error', () => undefined);
    socket.on('data', (data) => (received += data.toString()));
    socket.on('close', () => resolve(received));
    socket.on('end', () => socket.destroy());
    socket.write(
      `POST /v1/tool-calls HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer agent-token\r\ncontent-type: application/json\r\n${framing}\r\n\r\n`,
      send,
    );
  });
}

function sendBytes(port: number, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(received));
  });
}
