import { applyAll, opened } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute, minuteMs } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';

const path = scratchFolder();

function ask(log: TestLog, name: string, minutes: number | null, tenant = 'default') {
  const call = log.call(name, { tenant });
  call.record('ToolCallRequested');
  call.record('ApprovalRequested', { expiresAt: minutes === null ? null : minute(minutes) });
  return call;
}

describe('a query of due deadlines', () => {
  it('returns those up to and at a moment, of all tenants, the earliest first', async () => {
    const log = createTestLog();
    const late = ask(log, 'late', 30);
    const early = ask(log, 'early', 10, 'other');
    ask(log, 'later', 31);
    ask(log, 'never', null);
    const model = await opened(path('m.db'), log);
    expect(model.due(minuteMs(30), 10)).toEqual([
      { tenant: 'other', callId: early.callId, dueAt: minuteMs(10) },
      { tenant: 'default', callId: late.callId, dueAt: minuteMs(30) },
    ]);
    expect(model.due(minuteMs(30), 1)).toHaveLength(1);
    expect(model.due(minuteMs(30) - 1, 10)).toHaveLength(1);
    expect(model.due(minuteMs(9), 10)).toEqual([]);
    model.close();
  });
});

describe('the next deadline of all', () => {
  it('is known after every event, whether its row is in memory or in the file', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const next = (): number | null => {
      applyAll(model, log);
      return model.nextDueAt();
    };
    expect(next()).toBeNull();
    const calls = [20, 10, 30].map((minutes) => ask(log, String(minutes), minutes));
    expect(next()).toBe(minuteMs(10));
    model.flush();
    ask(log, '25', 25);
    expect(next()).toBe(minuteMs(10));
    calls[1]?.record('ApprovalExpired');
    expect(next()).toBe(minuteMs(20));
    calls[0]?.record('ApprovalResponded', { executeBy: minute(28) });
    expect(next()).toBe(minuteMs(25));
    ask(log, '5', 5);
    expect(next()).toBe(minuteMs(5));
    model.close();
    const again = await opened(path('m.db'), log);
    expect(again.nextDueAt()).toBe(minuteMs(5));
    again.close();
  });

  it('is none once everything is settled', async () => {
    const log = createTestLog();
    const call = ask(log, 'a', 10);
    const model = await opened(path('m.db'), log);
    model.flush();
    call.record('ToolCallCancelled');
    applyAll(model, log);
    expect(model.nextDueAt()).toBeNull();
    model.close();
  });
});
