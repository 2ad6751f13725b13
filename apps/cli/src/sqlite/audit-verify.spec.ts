import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { entryOf, formatVkey, leafHash } from '@countersign/audit';
import {
  approvedStory,
  honestCheckpoint,
  story,
  strangerSigner,
  testSigner,
  versionOneLog,
} from '@countersign/audit/testing';
import type { Story } from '@countersign/audit/testing';
import type { NewEvent, StoredEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore } from '@countersign/event-store';
import { createLog, systemClock } from '@countersign/runtime';
import { runCli } from '../program.js';
import { chainAfter, firstChain, leafOf } from './stored-chain.js';
import type { LogRow } from './stored-chain.js';
import { createCliRun } from '../testing/cli-run.js';
import { createFakeTerminal } from '../testing/fake-terminal.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const run = createCliRun({});
const vkey = formatVkey(testSigner.key);

interface Line {
  readonly check?: string;
  readonly ok?: boolean;
  readonly index?: number | null;
  readonly eventId?: string | null;
  readonly stream?: string | null;
  readonly detail?: string;
  readonly summary?: { readonly exit: number; readonly unproven: readonly string[] } & Record<string, unknown>;
}

async function verified(...args: readonly string[]) {
  const { code, out, err } = await run('audit', 'verify', ...args, '--json');
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  return { code, err, findings: lines.filter(({ ok }) => ok === false), lines, summary: lines.at(-1)?.summary };
}

function written(name: string, text: string): string {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
}

const linesOf = (events: readonly StoredEvent[]): string =>
  events.map((event) => `${JSON.stringify(event)}\n`).join('');

async function openStore(): Promise<EmbeddedEventStore> {
  return openEmbeddedEventStore({ folder, log: createLog({ level: 'silent' }), clock: systemClock });
}

/** Records a story in the folder, and returns its events as they are stored. */
async function record({ events }: Story): Promise<readonly StoredEvent[]> {
  const store = await openStore();
  for (const { stream, revision, eventId, type, data, metadata } of events) {
    await store.append(stream, revision - 1, [{ eventId, type, data, metadata } as unknown as NewEvent]);
  }
  const stored = await store.readAll(0, 1000);
  await store.close();
  return stored as unknown as readonly StoredEvent[];
}

/** Ways in which the owner of the folder can change the log. */
function meddle(work: (log: DatabaseSync) => void): void {
  const log = new DatabaseSync(join(folder, 'events.db'));
  work(log);
  log.close();
}

/** The script of a forger: each denial becomes an approval, and every hash of the store is computed again. */
function turnDenialsIntoApprovals(log: DatabaseSync): void {
  const denials = log.prepare(
    `SELECT position, data FROM events WHERE type = 'ApprovalResponded' AND data LIKE '%"denied"%'`,
  );
  for (const { position, data } of denials.all()) {
    const told = JSON.parse(String(data)) as { respondedAt: string };
    const executeBy = new Date(Date.parse(told.respondedAt) + 600_000).toISOString();
    const forged = { ...told, decision: { type: 'approve' }, resolution: 'approved', executeBy };
    log.prepare('UPDATE events SET data = ? WHERE position = ?').run(JSON.stringify(forged), position ?? 0);
  }
  recompute(log);
}

function recompute(log: DatabaseSync): void {
  const all = log.prepare(
    'SELECT position, name, revision, event_id, type, recorded_at, metadata, data, leaf, chain FROM events e JOIN streams s ON s.id = e.stream ORDER BY position',
  );
  all.setReturnArrays(true);
  let chain = firstChain;
  for (const row of all.all() as unknown as readonly LogRow[]) {
    const leaf = Buffer.from(leafOf(row), 'hex');
    chain = chainAfter(chain, leaf);
    log.prepare('UPDATE events SET leaf = ?, chain = ? WHERE position = ?').run(leaf, chain, row[0]);
  }
  log.prepare('UPDATE head SET chain = ? WHERE id = 1').run(chain);
}

/** A call that one person denied, where one was asked. */
const denied = story()
  .policy()
  .request()
  .ask({}, { stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: ['ops'] }] })
  .respond('alice', { decision: { type: 'deny' }, resolution: 'denied' });

describe('countersign audit verify of an export', () => {
  const log = versionOneLog();

  it('proves the log by a key and a checkpoint, and lists what it does not prove', async () => {
    const args = [written('log.ndjson', linesOf(log)), '--vkey', written('keys', `# mine\n${vkey}\n`)];
    const since = written('kept', [50, log.length].map((size) => honestCheckpoint(log.slice(0, size))).join('\n'));
    const { code, findings, summary, lines } = await verified(...args, '--since', since);
    expect({ code, findings }).toEqual({ code: 0, findings: [] });
    expect(summary).toMatchObject({
      exit: 0,
      tenant: 'default',
      origin: testSigner.key.name,
      epoch: 1,
      size: log.length,
    });
    expect(summary?.unproven).toContainEqual(expect.stringContaining('sealed or erased values'));
    expect(lines.map(({ check }) => check)).toEqual([
      ...['read', 'order', 'legal', 'digest', 'policy', 'signature', 'since', undefined],
    ]);
    const words = await run('audit', 'verify', ...args, '--since', since);
    expect(words.out).toMatch(/^Proven: 158 events of tenant "default", root /);
  });

  it('exits with 3 where nothing from outside vouches for the log', async () => {
    const file = written('log.ndjson', linesOf(log));
    expect((await verified(file)).code).toBe(3);
    const { code, summary } = await verified(file, '--since', honestCheckpoint(log));
    expect(code).toBe(3);
    expect(summary?.unproven).toContain('the whole log: no key was given (--vkey)');
  });

  it('exits with 1 at a key of a stranger, and at a checkpoint that a stranger signed', async () => {
    const file = written('log.ndjson', linesOf(log));
    const [own, strange] = [written('keys', vkey), written('strange', formatVkey(strangerSigner.key))];
    expect((await verified(file, '--vkey', strange, '--since', honestCheckpoint(log))).findings[0]?.check).toBe(
      'signature',
    );
    const forged = honestCheckpoint(log, strangerSigner);
    expect((await verified(file, '--vkey', own, '--since', forged)).findings[0]?.check).toBe('signature');
  });

  it('names each finding by index, event id and stream, all of them with --all', async () => {
    const claims = log.filter(({ type }) => type === 'ExecutionClaimed');
    const approvals = log.filter(({ data }) => (data as { resolution?: string }).resolution === 'approved');
    const bare = log.filter((event) => !approvals.includes(event));
    const file = written('log.ndjson', linesOf(bare));
    const { findings } = await verified(file);
    expect(findings.every(({ index, eventId }) => bare[index ?? -1]?.eventId === eventId)).toBe(true);
    expect(new Set(findings.map(({ check }) => check)).size).toBe(findings.length);
    const every = (await verified(file, '--all')).findings;
    expect(every.length).toBeGreaterThan(findings.length);
    const streams = new Set(approvals.map(({ stream }) => stream));
    for (const claim of claims.filter(({ stream }) => streams.has(stream))) {
      expect(every).toContainEqual(
        expect.objectContaining({ check: 'legal', eventId: claim.eventId, stream: claim.stream }),
      );
    }
  });

  it('finds a line that is cut off and positions that go back', async () => {
    const cut = written('cut.ndjson', linesOf(log).slice(0, -40));
    expect((await verified(cut)).findings).toMatchObject([{ check: 'read', index: log.length - 1 }]);
    const [first, second, ...others] = log as [StoredEvent, StoredEvent, ...StoredEvent[]];
    const swapped = written('swapped.ndjson', linesOf([second, first, ...others]));
    expect((await verified(swapped)).findings[0]).toMatchObject({ check: 'order', index: 1, eventId: first.eventId });
  });

  it('judges the events of a time alone, and says how many it left out', async () => {
    const at = log.find(({ type }) => type === 'ExecutionClaimed');
    const file = written('log.ndjson', linesOf(log.filter(({ eventId }) => eventId !== log[1]?.eventId)));
    expect((await verified(file)).code).toBe(1);
    const { code, summary } = await verified(file, '--from', '2027-01-01', '--since', honestCheckpoint(log));
    expect({ code, at: at === undefined }).toEqual({ code: 1, at: false });
    expect(summary?.unproven).toContainEqual(expect.stringContaining('outside of --from and --to'));
  });

  it('exits with 2 where there is nothing that it can read', async () => {
    const file = written('log.ndjson', linesOf(log));
    const view = written('view.ndjson', '{"type":"ToolCallRequested","position":1,"data":{}}\n');
    for (const args of [
      [join(folder, 'none')],
      [folder],
      [view],
      [file, '--since', 'none'],
      [file, '--since', written('no-checkpoint', 'a\nb\n')],
      [file, '--vkey', written('no-key', 'a+b+c\n')],
      [file, '--tenant', 'other', '--since', honestCheckpoint(log)],
    ]) {
      expect((await verified(...args)).code).toBe(2);
    }
  });

  it('asks for the tenant where there are several, and then verifies that one', async () => {
    const other = {
      ...log[0],
      position: 159,
      stream: 'policy-b',
      eventId: 'other',
      metadata: { ...(log[0]?.metadata as object), tenant: 'b' },
    } as StoredEvent;
    const file = written('log.ndjson', linesOf([...log, other]));
    const { code, err } = await verified(file);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining('several tenants') as unknown });
    expect((await verified(file, '--tenant', 'default')).summary).toMatchObject({ exit: 3, size: log.length });
  });

  it('shows on a terminal how far it is, how fast, and how long it takes', async () => {
    const many = Array.from({ length: 20 }, () => linesOf(log)).join('');
    let now = 0;
    const terminal = createFakeTerminal({ isTty: true, now: () => (now += 100) });
    await runCli(['audit', 'verify', written('log.ndjson', many)], terminal);
    expect(terminal.err()).toMatch(/\d+ % {2}[\d,]+ events, [\d,]+\/s, \d+ (s|min) left/);
  });
});

describe('countersign audit verify of a data folder', () => {
  it('is not deceived by a forger who turns denials into approvals and computes every hash again', async () => {
    const events = await record(denied);
    const kept = written('kept', honestCheckpoint(events));
    const args = [folder, '--vkey', written('keys', vkey)];
    expect((await verified(...args, '--since', kept)).code).toBe(0);
    meddle(turnDenialsIntoApprovals);
    // The forged log agrees with itself, and with every rule.
    expect(await verified(...args)).toMatchObject({ code: 3, findings: [] });
    const { code, findings } = await verified(...args, '--since', kept);
    expect(code).toBe(1);
    expect(findings).toMatchObject([{ check: 'since', index: 0 }]);
  });

  it('names the forged event when log-tree.db was not changed', async () => {
    const events = await record(denied);
    keepTree(events);
    meddle(turnDenialsIntoApprovals);
    const { findings } = await verified(folder, '--since', honestCheckpoint(events));
    expect(findings.map(({ check, index }) => [check, index])).toEqual([
      ['since', events.length - 1],
      ['tree', events.length - 1],
    ]);
  });

  it('compares the log with the checkpoint that is kept with it', async () => {
    keepTree(await record(approvedStory()));
    const args = [folder, '--vkey', written('keys', vkey)];
    expect((await verified(...args)).summary).toMatchObject({ exit: 0, size: 5 });
    meddle((log) => {
      log.exec('DELETE FROM events WHERE position = 5');
      log.exec('UPDATE head SET position = 4, chain = (SELECT chain FROM events WHERE position = 4) WHERE id = 1');
    });
    // A forger removes the file that tells the last acknowledged event, too.
    const acknowledged = { check: 'store', index: 4, detail: expect.stringContaining('were acknowledged') as unknown };
    expect((await verified(...args)).findings).toMatchObject([acknowledged, { check: 'tree', index: 4 }]);
    rmSync(join(folder, 'events.acknowledged'));
    expect((await verified(...args)).findings).toMatchObject([{ check: 'tree', index: 4 }]);
  });

  it.each([
    ['an altered event', `UPDATE events SET data = replace(data, 'ops', 'oops') WHERE position = 4`, 3],
    ['an event of another time', `UPDATE events SET recorded_at = '2026-01-01T00:00:00.000Z' WHERE position = 2`, 1],
    ['a removed event', 'DELETE FROM events WHERE position = 3', 2],
    ['a removed last event', 'DELETE FROM events WHERE position = 5', 4],
    [
      "two events in each other's place",
      'UPDATE events SET position = CASE position WHEN 2 THEN -3 WHEN 3 THEN -2 END WHERE position IN (2, 3); UPDATE events SET position = -position WHERE position < 0',
      1,
    ],
    ['an event that is no JSON', `UPDATE events SET data = '{' WHERE position = 4`, 3],
    ['a head of another chain', 'UPDATE head SET chain = zeroblob(32)', 5],
  ])('finds %s without a checkpoint', async (_, sql, index) => {
    await record(approvedStory());
    meddle((log) => {
      log.exec(sql);
    });
    const { code, findings } = await verified(folder);
    expect(code).toBe(1);
    expect(findings[0]).toMatchObject({ index });
    expect(findings.map(({ check }) => check)).toContain('store');
  });

  it.each([0, -7, 1000])('finds an event that is put at position %i, where only its stream leads to it', async (at) => {
    const events = await record(approvedStory());
    meddle((log) => {
      log.exec(`INSERT INTO events SELECT ${String(at)}, stream, 99, event_id || 'x', type, recorded_at, metadata, data, leaf, chain
        FROM events WHERE position = 2`);
    });
    const args = [folder, '--vkey', written('keys', vkey), '--since', honestCheckpoint(events)];
    const { code, findings } = await verified(...args);
    expect({ code, checks: findings.map(({ check }) => check) }).toEqual({ code: 1, checks: ['store'] });
  });

  it('chooses by the time of the first record, which a move to another store does not change', async () => {
    const { events } = story().policy().request().ask().claim();
    const moved = events.map((event) => ({
      ...event,
      recordedAt: '2020-01-01T00:00:00.000Z',
      metadata: { ...(event.metadata as object), moved: { recordedAt: event.recordedAt } },
    }));
    const args = [written('moved.ndjson', linesOf(moved)), '--vkey', written('keys', vkey)];
    const { code, findings } = await verified(...args, '--since', honestCheckpoint(events), '--from', '2026-01-01');
    expect({ code, findings }).toMatchObject({ code: 1, findings: [{ check: 'legal', index: 3 }] });
  });

  it('exits with 2, and not with 1, where a file beside the log cannot be read', async () => {
    const events = await record(approvedStory());
    keepTree(events);
    writeFileSync(join(folder, 'checkpoints.db'), 'no database');
    expect((await verified(folder)).code).toBe(2);
    expect((await verified(folder, '--vkey', folder)).code).toBe(2);
  });

  it('does not call a log proven of which a checkpoint vouches for no event', async () => {
    const events = await record(approvedStory());
    const none = honestCheckpoint([]);
    const { code, summary } = await verified(folder, '--vkey', written('keys', vkey), '--since', none);
    expect({ code, size: summary?.['size'] }).toEqual({ code: 3, size: events.length });
  });

  it('finds a member that is there twice in a line of an export', async () => {
    const [first, ...others] = linesOf(approvedStory().events).split('\n') as [string, ...string[]];
    const twice = first.replace('"data":{', '"data":{"activatedBy":"somebody else",');
    const file = written('twice.ndjson', [twice, ...others].join('\n'));
    expect((await verified(file)).code).not.toBe(3);
  });

  it('reads the log of a running server, and leaves every file of a stopped one as it is', async () => {
    const events = await record(approvedStory());
    const before = readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mtimeMs]);
    expect((await verified(folder, '--since', honestCheckpoint(events))).code).toBe(3);
    expect(readdirSync(folder).map((name) => [name, statSync(join(folder, name)).mtimeMs])).toEqual(before);
    const store = await openStore();
    const { eventId, type, data, metadata } = story().request().events[0] as StoredEvent;
    await store.append('toolCall-x', -1, [{ eventId: `${eventId}-x`, type, data, metadata } as unknown as NewEvent]);
    expect((await verified(folder)).findings).toMatchObject([{ check: 'legal', index: 5, stream: 'toolCall-x' }]);
    await store.close();
  });
});

/** A rewrite of one event or two by their positions; the hashes are computed again afterwards. */
const rewrites: readonly (readonly [what: string, sql: (one: number, other: number) => string])[] = [
  [
    'an altered time of the data',
    (one) => `UPDATE events SET data = replace(data, 'At":"2', 'At":"3') WHERE position = ${String(one)}`,
  ],
  ['another event id', (one) => `UPDATE events SET event_id = event_id || 'x' WHERE position = ${String(one)}`],
  [
    'another time of the record',
    (one) => `UPDATE events SET recorded_at = '2020-01-01T00:00:00.000Z' WHERE position = ${String(one)}`,
  ],
  [
    'a dropped event',
    (one) => `DELETE FROM events WHERE position = ${String(one)};
      UPDATE events SET position = -position + 1 WHERE position > ${String(one)};
      UPDATE events SET position = -position WHERE position < 0;
      UPDATE head SET position = position - 1`,
  ],
  [
    'a swap of two events',
    (one, other) => `UPDATE events SET position = -${String(other)} WHERE position = ${String(one)};
      UPDATE events SET position = ${String(one)} WHERE position = ${String(other)};
      UPDATE events SET position = -position WHERE position < 0`,
  ],
  [
    'an end that is cut off',
    (one) => `DELETE FROM events WHERE position >= ${String(one)}; UPDATE head SET position = ${String(one)} - 1`,
  ],
];

describe('countersign audit verify of a data folder that was rewritten with all its hashes', () => {
  it.each(rewrites)('finds %s against a checkpoint that was kept, at or before its index', async (_, sql) => {
    const events = await record(story(approvedStory().claim().report().events));
    const kept = written('kept', honestCheckpoint(events));
    const stored = readFileSync(join(folder, 'events.db'));
    for (const [one, other] of [
      [1, 7],
      [2, 6],
      [4, 5],
      [6, 7],
    ] as const) {
      writeFileSync(join(folder, 'events.db'), stored);
      meddle((log) => {
        log.exec(sql(one, other));
        recompute(log);
      });
      for (const name of ['events.db-wal', 'events.db-shm']) rmSync(join(folder, name), { force: true });
      const { code, findings } = await verified(folder, '--since', kept);
      expect(code).toBe(1);
      expect(Math.min(...findings.map(({ index }) => index ?? Infinity))).toBeLessThan(one);
    }
  });
});

/** Keeps the tree and the checkpoint of these events in the folder, as the server does. */
function keepTree(events: readonly StoredEvent[]): void {
  const tree = new DatabaseSync(join(folder, 'log-tree.db'));
  tree.exec('CREATE TABLE tiles (tenant TEXT, level INTEGER, number INTEGER, hashes BLOB)');
  tree
    .prepare('INSERT INTO tiles VALUES (?, 0, 0, ?)')
    .run('default', Buffer.concat(events.map((event) => leafHash(entryOf(event)))));
  tree.close();
  const kept = new DatabaseSync(join(folder, 'checkpoints.db'));
  kept.exec('CREATE TABLE checkpoints (tenant TEXT, epoch INTEGER, note TEXT)');
  kept.prepare('INSERT INTO checkpoints VALUES (?, 1, ?)').run('default', honestCheckpoint(events));
  kept.close();
}
