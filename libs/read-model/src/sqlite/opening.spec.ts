import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { createCollectingLog } from '@countersign/runtime/testing';
import { LogRewoundError } from '../log-source.js';
import { opened } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';

const path = scratchFolder();

function logOf(calls: number, runId = 'run-1'): TestLog {
  const log = createTestLog();
  for (let n = 0; n < calls; n += 1) {
    const call = log.call(`call_${String(n)}`, { runId });
    call.record('ToolCallRequested');
    call.record('ApprovalRequested');
  }
  return log;
}

async function closedWith(log: TestLog): Promise<string> {
  (await opened(path('m.db'), log)).close();
  return path('m.db');
}

describe('a log that is not the one seen before', () => {
  it('is refused when it is shorter', async () => {
    const file = await closedWith(logOf(3));
    await expect(opened(file, logOf(2))).rejects.toThrow(LogRewoundError);
    await expect(opened(file, createTestLog())).rejects.toThrow('up to position 6, but the log ends at 0');
  });

  it('is refused when it was rewound and has grown again', async () => {
    const file = await closedWith(logOf(3));
    const other = logOf(5, 'run-2');
    // The same positions with other events: only the event ids differ.
    other.events.splice(
      0,
      other.events.length,
      ...other.events.map((event) => ({ ...event, eventId: `other-${event.eventId}` })),
    );
    await expect(opened(file, other)).rejects.toThrow('the log has another event there');
  });

  it('leaves the file as it was, for when the log is back', async () => {
    const log = logOf(3);
    const file = await closedWith(log);
    await expect(opened(file, logOf(2))).rejects.toThrow(LogRewoundError);
    const model = await opened(file, log);
    expect(model.stats().calls).toBe(3);
    model.close();
  });
});

describe('a file that cannot be trusted', () => {
  async function expectRebuilt(file: string, reason: RegExp): Promise<void> {
    const lines = createCollectingLog();
    const model = await opened(file, logOf(200), { log: lines });
    expect(model.stats()).toMatchObject({ calls: 200, pendingApprovals: 200 });
    model.close();
    expect(lines.entries.filter(({ level }) => level === 'warn')).toMatchObject([
      { fields: { reason: expect.stringMatching(reason) as string } },
    ]);
  }

  it('of another version is built again', async () => {
    const file = await closedWith(logOf(200));
    const db = new DatabaseSync(file);
    db.exec('PRAGMA user_version = 999');
    db.close();
    await expectRebuilt(file, /schema version is 999/);
  });

  it('that is no database is built again', async () => {
    writeFileSync(path('m.db'), 'not a database, but long enough to have a header of one'.repeat(50));
    await expectRebuilt(path('m.db'), /damaged/);
  });

  it('that was cut off is built again', async () => {
    const file = await closedWith(logOf(200));
    truncateSync(file, Math.floor(statSync(file).size / 8192) * 4096);
    await expectRebuilt(file, /damaged/);
  });

  it('with a page overwritten is built again', async () => {
    const file = await closedWith(logOf(200));
    const bytes = readFileSync(file);
    bytes.fill(0xa5, 4096 * 3, 4096 * 12);
    writeFileSync(file, bytes);
    await expectRebuilt(file, /damaged/);
  });

  it('without its tables is built again', async () => {
    const file = await closedWith(logOf(200));
    const db = new DatabaseSync(file);
    db.exec('DROP TABLE meta');
    db.close();
    await expectRebuilt(file, /damaged/);
  });

  it('without its checkpoint is built again', async () => {
    const file = await closedWith(logOf(200));
    const db = new DatabaseSync(file);
    db.exec('DELETE FROM meta');
    db.close();
    await expectRebuilt(file, /no checkpoint/);
  });

  it('is not taken for damaged when it only cannot be opened', async () => {
    await expect(opened(path('no/such/folder/m.db'), createTestLog())).rejects.toThrow('no such file or directory');
  });
});

describe('a log that others write meanwhile', () => {
  it('is no rewound one for having grown while the rows were built for the first time', async () => {
    const log = logOf(2);
    let heads = 0;
    const head = async (): Promise<number> => {
      const before = await log.source.head();
      heads += 1;
      log.call(`late_${String(heads)}`).record('ToolCallRequested');
      return before;
    };
    const model = await opened(path('m.db'), log, { source: { ...log.source, head } });
    expect(model.checkpoint()).toBeGreaterThan(4);
    model.close();
  });
});
