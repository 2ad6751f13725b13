import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { jest } from '@jest/globals';
import { createSilentLog } from '@countersign/runtime/testing';
import { LogRewoundError } from '../log-source.js';
import { applyAll, opened } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import { rebuildReadModel } from './rebuild.js';
import { verifyReadModel } from './verify.js';

const path = scratchFolder();
const log = createSilentLog();

function recordCalls(target: TestLog, calls: number, prefix = 'call'): void {
  for (let n = 0; n < calls; n += 1) {
    const call = target.call(`${prefix}_${String(n)}`);
    call.record('ToolCallRequested');
    call.record('ApprovalRequested');
    if (n % 2 === 0) call.record('ApprovalResponded');
  }
}

/** Changes something by hand, as no event did. */
function tamper(file: string, sql: string): void {
  const db = new DatabaseSync(file);
  db.exec(sql);
  db.close();
}

describe('a rebuild of a file that is not open', () => {
  it('is taken over by the next opening, and only then', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    (await opened(path('m.db'), recorded)).close();
    tamper(path('m.db'), "UPDATE approvals SET state = 'denied'");
    const progress = jest.fn();
    const report = await rebuildReadModel({ file: path('m.db'), source: recorded.source, log, onProgress: progress });
    expect(report).toEqual({ events: 25, position: 25 });
    expect(progress).toHaveBeenLastCalledWith({ events: 25, position: 25, head: 25 });
    recordCalls(recorded, 1, 'later');
    const model = await opened(path('m.db'), recorded);
    expect(model.stats()).toMatchObject({ calls: 11, pendingApprovals: 5, checkpoint: 28 });
    expect(existsSync(path('m.db.rebuilt'))).toBe(false);
    model.close();
  });

  it('is not mixed with what the WAL of the old file, of a killed process, still had', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    const killed = await opened(path('m.db'), recorded);
    killed.flush();
    tamper(path('m.db'), "UPDATE requests SET request = replace(request, '100', '900')");
    expect(existsSync(path('m.db-wal'))).toBe(true);
    await rebuildReadModel({ file: path('m.db'), source: recorded.source, log });
    const model = await opened(path('m.db'), recorded);
    expect(model.run('default', 'run-1').map(({ request }) => request.arguments)).toEqual(
      Array(10).fill({ amount: 100 }),
    );
    model.close();
  });

  it('that fails leaves the old file in place', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 2);
    (await opened(path('m.db'), recorded)).close();
    const source = { ...recorded.source, readAll: () => Promise.reject(new Error('store down')) };
    await expect(rebuildReadModel({ file: path('m.db'), source, log })).rejects.toThrow('store down');
    expect(existsSync(path('m.db.rebuild'))).toBe(false);
    const model = await opened(path('m.db'), recorded);
    expect(model.stats().calls).toBe(2);
    model.close();
  });

  it('starts empty, also after an interrupted rebuild', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 2);
    writeFileSync(path('m.db.rebuild'), 'half of a file');
    await expect(rebuildReadModel({ file: path('m.db'), source: recorded.source, log })).resolves.toMatchObject({
      events: 5,
    });
  });
});

describe('a rebuild of a live model', () => {
  it('shows the events applied meanwhile, and notifies no reader of old ones', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    const file = path('m.db');
    let reads = 0;
    const live: { model?: Awaited<ReturnType<typeof opened>> } = {};
    // During every read of the log a faster writer appends.
    const source = {
      ...recorded.source,
      readAll: async (after: number, limit: number) => {
        const page = await recorded.source.readAll(after, Math.min(limit, 7));
        recordCalls(recorded, 1, `during_${String((reads += 1))}`);
        live.model?.apply(recorded.events);
        return page;
      },
    };
    const model = await opened(file, recorded, { source });
    live.model = model;
    model.apply(recorded.events);
    model.flush();
    tamper(file, "UPDATE calls SET progress = replace(progress, 'alice', 'mallory')");
    const listener = jest.fn();
    model.onApplied(listener);
    const before = model.checkpoint();
    const report = await model.rebuild();
    expect(report.position).toBe(model.checkpoint());
    expect(model.checkpoint()).toBeGreaterThan(before);
    expect(model.checkpoint()).toBe(recorded.events.at(-1)?.position);
    const told = listener.mock.calls.map(([applied]) => (applied as { events: { position: number }[] }).events).flat();
    expect(told.map(({ position }) => position)).toEqual(
      recorded.events.map(({ position }) => position).filter((position) => position > before),
    );
    recordCalls(recorded, 1, 'after');
    applyAll(model, recorded);
    model.flush();
    expect(await verifyReadModel({ file, source: recorded.source, log })).toMatchObject({ same: true });
    model.close();
  });

  it('does not run ahead of the live one: its listeners must still be told', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 2);
    const model = await opened(path('m.db'), recorded);
    recordCalls(recorded, 1, 'not_yet_applied');
    await model.rebuild();
    expect(model.checkpoint()).toBe(5);
    const listener = jest.fn();
    model.onApplied(listener);
    applyAll(model, recorded);
    expect(listener).toHaveBeenCalledWith(expect.objectContaining({ events: recorded.events.slice(5) }));
    model.close();
  });

  it('that fails leaves the live one serving', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 2);
    let isDown = false;
    const source = {
      ...recorded.source,
      readAll: (after: number, limit: number) =>
        isDown ? Promise.reject(new Error('store down')) : recorded.source.readAll(after, limit),
    };
    const model = await opened(path('m.db'), recorded, { source });
    isDown = true;
    await expect(model.rebuild()).rejects.toThrow('store down');
    recordCalls(recorded, 1, 'after');
    applyAll(model, recorded);
    expect(model.stats().calls).toBe(3);
    model.close();
  });
});

describe('verification', () => {
  async function verified(tampering?: string) {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    (await opened(path('m.db'), recorded)).close();
    if (tampering !== undefined) tamper(path('m.db'), tampering);
    return verifyReadModel({ file: path('m.db'), source: recorded.source, log });
  }

  it('finds a file that was only ever written by the fold the same', async () => {
    expect(await verified()).toEqual({ same: true, rows: 33, events: 25, position: 25, differences: [] });
    expect(existsSync(path(`m.db.verify-${String(process.pid)}`))).toBe(false);
  });

  it.each([
    ['an altered state', "UPDATE approvals SET state = 'approved' WHERE seq = 5", 'approvals', 5, 'different'],
    [
      'an altered answer',
      "UPDATE calls SET progress = replace(progress, 'alice', 'mallory') WHERE seq = 1",
      'calls',
      1,
      'different',
    ],
    [
      'altered arguments',
      "UPDATE requests SET request = replace(request, '100', '900') WHERE seq = 4",
      'requests',
      4,
      'different',
    ],
    ['an altered deadline', 'UPDATE calls SET due_at = due_at + 1 WHERE seq = 4', 'calls', 4, 'different'],
    ['a row too few', 'DELETE FROM approvals WHERE seq = 2', 'approvals', 2, 'missing'],
    ['a row too many', "INSERT INTO requests VALUES (99, '[]')", 'requests', 99, 'unexpected'],
    ['an altered count', 'UPDATE meta SET pending = pending + 1', 'meta', 1, 'different'],
  ])('finds %s', async (_, tampering, table, seq, what) => {
    const answer = await verified(tampering);
    expect(answer.same).toBe(false);
    expect(answer.differences).toContainEqual(expect.objectContaining({ table, seq, what }));
  });

  it('finds an index that does not say what its table says', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    (await opened(path('m.db'), recorded)).close();
    const bytes = readFileSync(path('m.db'));
    const { callId } = recorded.call('call_3');
    let at = bytes.indexOf(callId);
    // 0x0a begins a page of an index.
    while (bytes[Math.floor(at / 4096) * 4096] !== 0x0a) at = bytes.indexOf(callId, at + 1);
    bytes.write('tc_7', at);
    writeFileSync(path('m.db'), bytes);
    const answer = await verifyReadModel({ file: path('m.db'), source: recorded.source, log });
    expect(answer.same).toBe(false);
    expect(answer.differences[0]).toMatchObject({ table: 'file', what: 'damaged' });
  });

  it('stops after the first few differences', async () => {
    const answer = await verified('DELETE FROM approvals; DELETE FROM requests; DELETE FROM calls');
    expect(answer).toMatchObject({ same: false });
    expect(answer.differences).toHaveLength(20);
  });

  it('reads a file in use as it was at one moment', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    const model = await opened(path('m.db'), recorded);
    model.flush();
    recordCalls(recorded, 1, 'not_flushed');
    applyAll(model, recorded);
    const answer = await verifyReadModel({ file: path('m.db'), source: recorded.source, log });
    expect(answer).toMatchObject({ same: true, position: 25 });
    model.close();
  });

  it('refuses a log that ends before the checkpoint', async () => {
    const recorded = createTestLog();
    recordCalls(recorded, 10);
    (await opened(path('m.db'), recorded)).close();
    recorded.events.splice(20);
    await expect(verifyReadModel({ file: path('m.db'), source: recorded.source, log })).rejects.toThrow(
      LogRewoundError,
    );
  });

  it('refuses a file of another version', async () => {
    await expect(verified('PRAGMA user_version = 99')).rejects.toThrow('schema version 99');
  });
});
