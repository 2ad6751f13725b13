import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { LogEvent } from '@countersign/contracts';
import { opened, recordPending, tight } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute, minuteMs } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import type { FileReadModel } from './sqlite-read-model.js';
import { verifyReadModel } from './verify.js';
import { createSilentLog } from '@countersign/runtime/testing';

const path = scratchFolder();
const passedOverMax = 15;
let log: TestLog;
let file: string;
let model: FileReadModel;

/** The log's events, of which some were recorded by a clock that is behind. */
function recordUnevenly(calls: number): void {
  for (let count = 0; count < calls; count += 1) {
    recordPending(log, `call_${String(count)}`);
    const last = log.events.at(-1);
    if (last !== undefined && count % 3 === 0)
      log.events[log.events.length - 1] = { ...last, recordedAt: minute(last.position - 30) };
  }
}

/** The events after a place, up to the first one that does not meet the condition. */
const passedOver = (place: number, isPassed: (event: LogEvent) => boolean): number => {
  const after = log.events.filter(({ position }) => position > place);
  const end = after.findIndex((event) => !isPassed(event));
  return end === -1 ? after.length : end;
};

beforeEach(async () => {
  log = createTestLog(7);
  file = path('m.db');
  model = await opened(file, log, { bounds: tight });
});
afterEach(() => {
  model.close();
});

describe('the places of the log', () => {
  it('before a time have nothing recorded at or after it, and miss at most fifteen earlier events', async () => {
    recordUnevenly(60);
    model.apply(log.events);
    const times = [...log.events.map(({ recordedAt }) => recordedAt), minute(-100), minute(10_000)];
    for (const reopened of [false, true]) {
      if (reopened) {
        model.close();
        model = await opened(file, log, { bounds: tight });
      }
      for (const time of times) {
        const place = model.places.before(time);
        expect([0, ...log.events.map(({ position }) => position)]).toContain(place);
        const upToPlace = log.events.filter(({ position }) => position <= place);
        expect(upToPlace.filter(({ recordedAt }) => recordedAt >= time)).toEqual([]);
        expect(passedOver(place, ({ recordedAt }) => recordedAt < time)).toBeLessThanOrEqual(passedOverMax);
      }
    }
  });

  it('up to a position are that of an event, at most fifteen events before it', () => {
    recordUnevenly(60);
    model.apply(log.events);
    const end = log.events.at(-1)?.position ?? 0;
    for (let position = 0; position <= end + 50; position += 1) {
      const place = model.places.upTo(position);
      expect([0, ...log.events.map((event) => event.position)]).toContain(place);
      expect(place).toBeLessThanOrEqual(position);
      expect(passedOver(place, (event) => event.position <= position)).toBeLessThanOrEqual(passedOverMax);
    }
  });

  it('are the same when the log is folded again', async () => {
    recordUnevenly(40);
    for (const event of log.events) model.apply([event]);
    model.flush();
    const { same, differences } = await verifyReadModel({ file, source: log.source, log: createSilentLog() });
    expect({ same, differences }).toEqual({ same: true, differences: [] });
  });
});

it('counts the pending approvals that were requested up to a time', () => {
  for (const [n, name] of ['a', 'b', 'c'].entries()) {
    const call = log.call(name);
    call.record('ToolCallRequested');
    call.record('ApprovalRequested', { approvalId: call.approvalId(), requestedAt: minute(n) });
  }
  log.call('c').record('ApprovalResponded', { approvalId: log.call('c').approvalId() });
  model.apply(log.events);
  expect([-1, 0, 1, 2].map((n) => model.pendingSince(minuteMs(n)))).toEqual([0, 1, 2, 2]);
});
