import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { entryOf, leafHash } from '@countersign/audit';
import type { EntryEvent } from '@countersign/audit';
import { facetsOf } from '@countersign/contracts';
import type { EventView, LogEvent, NewEvent } from '@countersign/contracts';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { RecordOfUse } from '../record-of-use.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
const policies = createTestPolicies();
let isDamaged = false;
let isGrowing = false;
let isMarked = false;
const reads: object[] = [];
const secret = 'hunter2-canary';
const root = Buffer.alloc(32, 7).toString('base64');
const note = `ledger.example/default/1\n3\n${root}\n\n\u2014 ledger.example/default/1 ${Buffer.alloc(68).toString('base64')}\n`;

beforeAll(async () => {
  const use = { auditRead: (_: unknown, read: object) => void reads.push(read) } as unknown as RecordOfUse;
  world = await openWorld({
    policies: {
      of: (tenant) => {
        const identities = { slack: 'T1:U42', email: 'ann@corp.example' };
        return { ...policies.of(tenant), approvers: [{ id: 'ann', groups: [], identities, away: [] } as never] };
      },
    },
    over: (store) => ({
      ...store,
      readAll: async (after, limit) => {
        if (isGrowing) {
          isGrowing = false;
          await api.request({ toolName: 'meanwhile' });
        }
        if (isDamaged) throw new EventStoreUnavailableError('the event at position 5 is not what was recorded');
        return store.readAll(after, limit);
      },
    }),
    change: (ports) => ({
      ...ports,
      use,
      isLogDamaged: () => isMarked,
      checkpoints: {
        newest: () => note,
        sign: () => Promise.reject(new Error('no')),
        rewound: () => undefined,
        goOn: () => Promise.reject(new Error('no')),
        timestamps: () => Promise.resolve([]),
        keyChanges: () => [],
        vkeys: () => Promise.resolve([]),
      },
    }),
  });
  api = createApi(world);
  for (let n = 0; n < 120; n += 1) {
    const toolName = ['delete_file', 'drop_table', 'pay'][n % 3];
    const approval = await api.request({ toolName, needsApproval: true, arguments: { n, password: secret } });
    if (approval.approval === null) continue;
    const as = n % 2 === 0 ? 'ann' : 'bob';
    const decision = { type: n % 4 === 0 ? 'deny' : 'approve' };
    const path = `/v1/approvals/${approval.approval.approvalId}/responses`;
    await api.send('POST', path, { as, body: { decision, reason: '=1+1' } });
  }
  await api.send('POST', '/v1/tool-calls', {
    as: 'other',
    body: { runId: 'run-1', calls: [{ toolCallId: 'c', toolName: 'of_others', arguments: {} }] },
  });
});
afterAll(() => world.close());

const ask = async (query: string, as = 'auditor') => {
  const { status, body, headers } = await api.send<string>('GET', `/v1/audit/events${query}`, { as });
  const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.replace('/v1/audit/events', '');
  return { status, body, headers, next };
};
const linesOf = (body: string) =>
  body
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as EventView);
const search = async (query: string, as?: string): Promise<EventView[]> => {
  const all: EventView[] = [];
  for (let page: string | undefined = query; page !== undefined;) {
    const { status, body, next } = await ask(page, as);
    if (status !== 200) throw new Error(JSON.stringify(body));
    all.push(...linesOf(body));
    page = next;
  }
  return all;
};
const positionsOf = (events: readonly { readonly position: number }[]) => events.map(({ position }) => position);
const whole = async (): Promise<readonly LogEvent[]> =>
  (await world.store.readAll(0, 100_000)).filter(({ metadata }) => metadata.tenant === 'default');

describe('a search of the log', () => {
  it.each([
    ['types=ApprovalResponded,ToolCallBlocked', 'type', ['ApprovalResponded', 'ToolCallBlocked']],
    ['actor=ann', 'actor', ['ann', 't1:u42', 'ann@corp.example']],
    ['actor=ANN@corp.example', 'actor', ['ann', 't1:u42', 'ann@corp.example']],
    ['toolName=pay', 'toolName', ['pay']],
    ['agentId=agent,nobody', 'agentId', ['agent']],
    ['runId=run-3,run-7', 'runId', ['run-3', 'run-7']],
    ['ruleId=needsApproval', 'ruleId', ['needsApproval']],
    ['via=api', 'via', ['api']],
  ] as const)('by %s finds what a look at every event finds, from both ends', async (query, facet, values) => {
    const wanted = (await whole()).filter((event) =>
      facetsOf(event)[facet].some((one) => values.includes(one as never)),
    );
    expect(wanted.length).toBeGreaterThan(0);
    expect(positionsOf(await search(`?${query}&limit=7`))).toEqual(positionsOf(wanted));
    expect(positionsOf(await search(`?${query}&order=desc&limit=7`))).toEqual(positionsOf(wanted).toReversed());
  });

  it('joins filters, and the bounds of time and place', async () => {
    const all = await whole();
    const [from, to] = [all[100], all[300]];
    const query = `since=${from?.recordedAt ?? ''}&until=${to?.recordedAt ?? ''}&after=120&before=400&actor=bob&types=ApprovalResponded`;
    const wanted = all.filter(
      (event) =>
        event.recordedAt >= (from?.recordedAt ?? '') &&
        event.recordedAt < (to?.recordedAt ?? '') &&
        event.position > 120 &&
        event.position < 400 &&
        event.type === 'ApprovalResponded' &&
        facetsOf(event).actor.includes('bob'),
    );
    expect(wanted.length).toBeGreaterThan(3);
    for (const order of ['asc', 'desc']) {
      const found = await search(`?${query}&order=${order}&limit=3`);
      expect(positionsOf(found).toSorted((a, b) => a - b)).toEqual(positionsOf(wanted));
    }
  });

  it('loses no event and has none twice while the log grows', async () => {
    const seen: number[] = [];
    for (let page: string | undefined = '?limit=50'; page !== undefined;) {
      const { body, next } = await ask(page);
      seen.push(...positionsOf(linesOf(body)));
      if (next !== undefined) await api.request({ toolName: 'late' });
      page = next;
    }
    expect(seen).toEqual(positionsOf(await whole()));
  });

  it.each(['asc', 'desc'])('shows nothing twice that was recorded while a page was read: %s', async (order) => {
    const before = positionsOf(await whole());
    isGrowing = true;
    const { body, headers } = await ask(`?order=${order}&limit=10000`);
    expect(isGrowing).toBe(false);
    const found = positionsOf(linesOf(body)).toSorted((a, b) => a - b);
    expect(found).toEqual(before.filter((position) => position <= Number(headers.get('countersign-position'))));
    expect(await world.store.head()).toBeGreaterThan(before.at(-1) ?? 0);
  });

  it('says how far it looked, so that a later search goes on from there', async () => {
    const { headers, next } = await ask('?types=ApprovalResponded&limit=10000');
    expect(next).toBeUndefined();
    const position = Number(headers.get('countersign-position'));
    expect(position).toBe(await world.store.head());
    const { callId } = await api.request({ toolName: 'later_still' });
    expect((await search(`?after=${String(position)}`)).map((event) => event.callId)).toContain(callId);
  });

  it('finds no value that is hidden', async () => {
    for (const name of ['actor', 'toolName', 'agentId', 'runId', 'callId', 'ruleId', 'via'])
      expect(await search(`?${name}=${secret}`)).toEqual([]);
  });

  it.each(['agent', 'ann', 'worker', 'admin'])('is not for %s', async (as) => {
    expect((await ask('', as)).status).toBe(403);
  });

  it('stays in the tenant of the auditor', async () => {
    const others = await search('', 'other');
    expect(others.map(({ toolName }) => toolName)).toEqual(['of_others', 'of_others']);
    expect(await search('?toolName=of_others')).toEqual([]);
    expect(await search('?agentId=agent&toolName=pay', 'other')).toEqual([]);
  });

  it.each([
    ['types=Nothing', 'types', 'there is no event Nothing'],
    ['types=', 'types', ''],
    ['since=yesterday', 'since', ''],
    ['since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z', 'until', 'must be later than `since`'],
    ['after=5&before=5', 'before', 'must be larger than `after`'],
    ['limit=10001', 'limit', ''],
    ['limit=0', 'limit', ''],
    ['order=newest', 'order', ''],
    ['format=xls', 'format', ''],
    ['values=all', 'values', ''],
    ['values=stored&format=csv', 'format', 'must be `ndjson` for `values=stored`'],
    ['actor=a,,b', 'actor', ''],
    ['q=hunter', 'q', ''],
  ])('refuses %s', async (query, path, message) => {
    const { status, body } = await api.send<{ errors: { path: string; message: string }[] }>(
      'GET',
      `/v1/audit/events?${query}`,
      { as: 'auditor' },
    );
    expect([status, body.errors[0]?.path]).toEqual([400, path]);
    expect(body.errors[0]?.message).toContain(message);
  });

  it('of a log with damage is an error, and no short page', async () => {
    isDamaged = true;
    try {
      expect((await ask('')).status).toBe(503);
    } finally {
      isDamaged = false;
    }
  });

  it('marks each page, state and stream of a log that was found damaged, and none of a sound one', async () => {
    const auditor = { as: 'auditor' };
    const paths = ['/v1/audit/events?limit=2', '/v1/audit/state', '/v1/tool-calls'];
    const marks = async () => {
      const answers = await Promise.all(paths.map((path) => api.send<string>('GET', path, auditor)));
      const head = await api.send<string>('HEAD', '/v1/events', auditor);
      return [...answers, head].map(({ status, headers }) => [status, headers.get('countersign-log')]);
    };
    expect(await marks()).toEqual(Array.from({ length: 4 }, () => [200, null]));
    isMarked = true;
    try {
      expect(await marks()).toEqual(Array.from({ length: 4 }, () => [200, 'damaged']));
    } finally {
      isMarked = false;
    }
  });
});

describe('the values in an export', () => {
  it.each(['ndjson', 'csv', 'ocsf'])(
    'are masked as %s, and in clear for who asks, which is recorded',
    async (format) => {
      reads.length = 0;
      const masked = await ask(`?format=${format}&types=ToolCallRequested&limit=5`);
      expect(masked.body).not.toContain(secret);
      expect(masked.body).toContain('masked sha256');
      expect((await ask(`?format=${format}&values=clear&limit=5`)).body).toContain(secret);
      expect(reads).toEqual([
        { what: 'export', values: 'masked', after: 0, limit: 5 },
        { what: 'export', values: 'clear', after: 0, limit: 5 },
      ]);
    },
  );

  it('as stored are commitments where they were recorded in clear, and whole where nothing is hidden', async () => {
    const { body } = await ask('?values=stored&limit=40');
    expect(body).not.toContain(secret);
    const [requested, ...others] = linesOf(body);
    expect(requested).toEqual({
      ...{ v: 1, type: 'ToolCallRequested', revision: 0, body: expect.stringMatching(/^sha256:/) },
      ...{ eventId: expect.any(String), stream: expect.any(String), recordedAt: expect.any(String) },
    });
    expect(others.find(({ type }) => type === 'ApprovalResponded')).toMatchObject({
      stream: expect.any(String),
      metadata: {},
    });
  });
});

it('finds an event that was moved from another store by the time of that store', async () => {
  const moved = { recordedAt: '2024-02-03T04:05:06.789Z' };
  const metadata = { tenant: 'default', callId: null, runId: null, schemaVersion: 2, commandId: 'moved', moved };
  const data = {
    processId: 'p',
    configures: 'tokens',
    digest: `sha256:${'0'.repeat(64)}`,
    why: 'x',
    refusedAt: moved.recordedAt,
  };
  const event = { eventId: randomUUID(), type: 'ConfigurationRefused', data, metadata } as NewEvent;
  await world.store.append('system-default-moved', -1, [event]);
  await api.request({ toolName: 'after' });
  const query = '?types=ConfigurationRefused&values=stored&since=2024-02-03T04:05:06.789Z&until=2024-02-04T00:00:00Z';
  const [found, ...others] = await search(query);
  expect(found).toMatchObject({ eventId: event.eventId, ...moved });
  expect(others).toEqual([]);
  expect(await search('?types=ConfigurationRefused&since=2025-01-01T00:00:00Z')).toEqual([]);
});

it('gives an event whose schema tells a hidden value as its digest in the stored form', async () => {
  const pin = { writeOnly: true, default: 'schema-canary' };
  const { callId } = await api.request({ arguments: {}, toolSchema: { type: 'object', properties: { pin } } });
  const { body } = await ask(`?callId=${callId}&types=ToolCallRequested&values=stored`);
  expect(linesOf(body)).toMatchObject([{ v: 1, type: 'ToolCallRequested' }]);
  expect(body).not.toContain('schema-canary');
});

describe('the formats of an export', () => {
  it('are a table with a name for a spreadsheet, in which no text is a formula', async () => {
    const { body, headers } = await ask('?format=csv&types=ApprovalResponded&actor=bob');
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(headers.get('content-disposition')).toBe('attachment; filename="countersign-events.csv"');
    const [header, ...rows] = body.trim().split('\r\n');
    expect(header).toMatch(/^position,recordedAt,code,type,actorKind,actor,/);
    expect(rows.length).toBeGreaterThan(10);
    for (const row of rows) expect(row).toContain(",'=1+1,");
  });

  it('are a Parquet file', async () => {
    const response = await fetch(`${world.url}/v1/audit/events?format=parquet`, {
      headers: { authorization: 'Bearer auditor-token' },
    });
    expect(response.headers.get('content-type')).toBe('application/vnd.apache.parquet');
    const bytes = Buffer.from(await response.arrayBuffer());
    expect([bytes.subarray(0, 4).toString(), bytes.subarray(-4).toString()]).toEqual(['PAR1', 'PAR1']);
  });

  it('are OCSF, in which a denied or blocked call is denied and blocked', async () => {
    const lines = (query: string) =>
      ask(`?format=ocsf&${query}`).then(({ body }) => linesOf(body) as unknown as Record<string, unknown>[]);
    const denied = (await lines('types=ApprovalResponded&actor=ann')).filter(({ action_id: id }) => id === 2);
    const blocked = await lines('types=ToolCallBlocked');
    for (const list of [denied, blocked]) {
      expect(list.length).toBeGreaterThan(5);
      for (const one of list) expect(one).toMatchObject({ class_uid: 6003, action_id: 2, disposition_id: 2 });
    }
    expect((await lines('types=ApprovalResponded&actor=bob'))[0]).toMatchObject({ action_id: 1, disposition_id: 1 });
    expect((await lines('types=ApprovalRequested'))[0]).not.toHaveProperty('action_id');
    expect(denied[0]?.metadata).toMatchObject({ event_code: 'CS203', profiles: ['ai_operation', 'security_control'] });
  });

  it('are OCSF 1.9 with the leaf of each event, from both ends, and the newest checkpoint', async () => {
    const leaves = (await whole()).map((event) => Buffer.from(leafHash(entryOf(event as EntryEvent))).toString('hex'));
    for (const order of ['asc', 'desc'] as const) {
      const { body } = await ask(`?format=ocsf&ocsf=1.9&limit=300&order=${order}`);
      const found = linesOf(body) as unknown as Record<string, { fingerprint: { value: string } }[]>[];
      const values = found.map(({ attestation_list: list }) => list?.[0]?.fingerprint.value);
      expect(values).toEqual((order === 'asc' ? leaves : leaves.toReversed()).slice(0, 300));
      const checkpoint = { origin: 'ledger.example/default/1', size: 3, root: Buffer.alloc(32, 7).toString('base64') };
      expect(found[0]).toMatchObject({
        metadata: { version: '1.9.0', profiles: ['ai_operation', 'security_control', 'record_integrity'] },
        attestation_list: [{ authority_uid: checkpoint.origin, chain_uid: checkpoint.origin }],
        enrichments: [{ type: 'checkpoint', data: checkpoint }],
      });
    }
    expect((await ask('?ocsf=1.9')).status).toBe(400);
  });

  it.each(['ndjson', 'csv', 'parquet', 'ocsf'])('have as %s the type that HEAD says', async (format) => {
    const init = { headers: { authorization: 'Bearer auditor-token' } };
    const url = `${world.url}/v1/audit/events?limit=1&format=${format}`;
    const [head, get] = [await fetch(url, { ...init, method: 'HEAD' }), await fetch(url, init)];
    await get.arrayBuffer();
    expect(head.headers.get('content-type')).toBe(get.headers.get('content-type'));
  });
});
