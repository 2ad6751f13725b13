import { describe, expect, it } from '@jest/globals';
import { createOwnStoreClock } from '@countersign/event-store';
import type { Applied, DueCall } from '@countersign/read-model';
import { sleep } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { createDeadlines } from './deadlines.js';

const dayMs = 86_400_000;

/** The read model's sorted index of deadlines, without the read model. */
function createIndex() {
  const dueAt = new Map<string, number>();
  const listeners = new Set<(applied: Applied) => void>();
  let asked = 0;
  let shown = 1;
  let earliest: number | null | undefined;
  return {
    /** From here on the read model applies events only on command. */
    fallBehind: () => void (shown = 0),
    catchUp: () => void (shown = 1),
    clear: () => {
      dueAt.clear();
      earliest = undefined;
    },
    set: (callId: string, at: number | null) => {
      earliest = undefined;
      if (at === null) dueAt.delete(callId);
      else dueAt.set(callId, at);
      for (const listener of listeners) listener({ events: [], callIds: [callId], position: 0 });
    },
    asked: () => asked,
    port: {
      due: (atMs: number, limit: number): DueCall[] => {
        asked += 1;
        return [...dueAt]
          .filter(([, at]) => at <= atMs)
          .slice(0, limit)
          .map(([callId, at]) => ({ tenant: 'default', callId, dueAt: at }));
      },
      checkpoint: () => shown,
      nextDueAt: () => {
        if (earliest === undefined) {
          earliest = null;
          for (const at of dueAt.values()) if (earliest === null || at < earliest) earliest = at;
        }
        return earliest;
      },
      onApplied: (listener: (applied: Applied) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  };
}

function setUp(fire?: (callId: string) => Promise<number | null>) {
  const clock = createVirtualClock();
  const index = createIndex();
  const log = createCollectingLog();
  const fired: { callId: string; at: number }[] = [];
  const lags: number[] = [];
  let problem: string | undefined;
  const deadlines = createDeadlines({
    readModel: index.port,
    fireDue: (_tenant, callId) => {
      if (fire !== undefined) return fire(callId);
      fired.push({ callId, at: clock.now() });
      index.set(callId, null);
      return Promise.resolve(1);
    },
    clock: { ...createOwnStoreClock(clock), problem: () => problem },
    log,
    onFired: (lagMs) => lags.push(lagMs),
  });
  const setProblem = (why?: string): void => void (problem = why);
  return { setProblem, clock, index, deadlines, fired, lags, log, start: clock.now() };
}

describe('deadlines', () => {
  it('do not fire while the clock of the process is wrong, and fire once it is right', async () => {
    const { clock, index, deadlines, fired, start, setProblem } = setUp();
    deadlines.start();
    setProblem('10 s ahead');
    index.set('a', start + 1000);
    await clock.advanceAsync(10_000);
    expect(fired).toEqual([]);
    expect(index.asked()).toBe(0);
    setProblem();
    await clock.advanceAsync(500);
    expect(fired).toEqual([{ callId: 'a', at: start + 10_500 }]);
    await deadlines.stop();
  });

  it('of a page that was read before do not fire once the clock is wrong', async () => {
    const { clock, index, deadlines, fired, setProblem } = setUp(async (callId) => {
      fired.push({ callId, at: clock.now() });
      setProblem('10 s ahead');
      index.set(callId, null);
      return 1;
    });
    for (let nth = 0; nth < 100; nth += 1) index.set(String(nth), clock.now());
    deadlines.start();
    await clock.advanceAsync(10_000);
    expect(fired.length).toBeLessThanOrEqual(64);
    await deadlines.stop();
  });

  it('fire when they are due, each once, the earliest first', async () => {
    const { clock, index, deadlines, fired, start } = setUp();
    deadlines.start();
    index.set('b', start + 2000);
    index.set('a', start + 1000);
    await clock.advanceAsync(999);
    expect(fired).toEqual([]);
    await clock.advanceAsync(1);
    expect(fired).toEqual([{ callId: 'a', at: start + 1000 }]);
    await clock.advanceAsync(5000);
    expect(fired.map(({ callId }) => callId)).toEqual(['a', 'b']);
    await deadlines.stop();
  });

  it('that fall due together fire side by side, the earliest first, each once, also while the view is behind', async () => {
    const begun: string[] = [];
    let [running, most] = [0, 0];
    const { clock, index, deadlines, start } = setUp(async (callId) => {
      begun.push(callId);
      if (callId === 'later') index.set(callId, null);
      running += 1;
      most = Math.max(most, running);
      // One that hangs must not delay the others.
      await sleep(clock, callId === 'call-10007' ? 30_000 : 10);
      running -= 1;
      return 1;
    });
    index.fallBehind();
    const calls = Array.from({ length: 10_000 }, (_, n) => `call-${String(n + 10_000)}`);
    for (const [n, callId] of calls.entries()) index.set(callId, start + n / 100);
    deadlines.start();
    await clock.advanceAsync(100 + (10_000 / 64) * 10 + 500);
    expect(begun).toHaveLength(10_000);
    expect(begun.slice(0, 64)).toEqual(calls.slice(0, 64));
    expect(most).toBe(64);
    await clock.advanceAsync(60_000);
    expect(begun).toHaveLength(10_000);
    index.clear();
    index.catchUp();
    index.set('later', clock.now() + 1000);
    await clock.advanceAsync(1200);
    expect(begun.at(-1)).toBe('later');
    await deadlines.stop();
  });

  it('fire after a restart when they passed meanwhile', async () => {
    const { clock, index, deadlines, fired, lags, start } = setUp();
    index.set('a', start - 5000);
    deadlines.start();
    await clock.advanceAsync(1);
    expect(fired.map(({ callId }) => callId)).toEqual(['a']);
    expect(lags[0]).toBeGreaterThanOrEqual(5000);
    await deadlines.stop();
  });

  it('beyond 24.8 days do not fire early', async () => {
    const { clock, index, deadlines, fired, start } = setUp();
    deadlines.start();
    index.set('a', start + 60 * dayMs);
    await clock.advanceAsync(dayMs / 24);
    expect(fired).toEqual([]);
    await deadlines.stop();
  });

  it('that a jump of the wall clock brings near are noticed within half a second', async () => {
    const { clock, index, deadlines, fired, start } = setUp();
    deadlines.start();
    index.set('a', start + 3_600_000);
    await clock.advanceAsync(10_000);
    clock.jump(3_600_000);
    await clock.advanceAsync(500);
    expect(fired.map(({ callId }) => callId)).toEqual(['a']);
    await deadlines.stop();
  });

  it('are asked of the index only when one has come, however many wait', async () => {
    const { clock, index, deadlines, start } = setUp();
    deadlines.start();
    for (let n = 0; n < 1000; n += 1) index.set(`call-${String(n)}`, start + dayMs);
    await clock.advanceAsync(60_000);
    expect(index.asked()).toBe(0);
    await deadlines.stop();
  });

  it('move when the earliest one moves, and rest when there is none', async () => {
    const { clock, index, deadlines, fired, start } = setUp();
    deadlines.start();
    index.set('a', start + 1000);
    index.set('a', start + 3000);
    await clock.advanceAsync(2000);
    expect(fired).toEqual([]);
    index.set('a', null);
    await clock.advanceAsync(10_000);
    expect(fired).toEqual([]);
    await deadlines.stop();
  });

  it('are looked up again after a pause when the view cannot answer, as on a full disk', async () => {
    const { clock, index, deadlines, fired, log, start } = setUp();
    const { due } = index.port;
    let isFull = true;
    index.port.due = (atMs, limit) => {
      if (isFull) throw new Error('database or disk is full');
      return due(atMs, limit);
    };
    deadlines.start();
    index.set('a', start + 100);
    await clock.advanceAsync(3500);
    expect(fired).toEqual([]);
    expect(log.entries.length).toBeGreaterThanOrEqual(3);
    expect(log.entries.length).toBeLessThanOrEqual(4);
    isFull = false;
    await clock.advanceAsync(1000);
    expect(fired.map(({ callId }) => callId)).toEqual(['a']);
    await deadlines.stop();
  });

  it('are looked up again after a pause when the view cannot even say which comes next', async () => {
    const { clock, index, deadlines, fired, log, start } = setUp();
    const { nextDueAt } = index.port;
    index.port.nextDueAt = () => {
      throw new Error('disk full');
    };
    expect(() => {
      deadlines.start();
      index.set('a', start + 1000);
    }).not.toThrow();
    expect(log.entries).toContainEqual(expect.objectContaining({ level: 'warn' }));
    index.port.nextDueAt = nextDueAt;
    await clock.advanceAsync(2000);
    expect(fired.map(({ callId }) => callId)).toEqual(['a']);
    await deadlines.stop();
  });

  it('are retried after a pause when the stream does not confirm them or cannot be written, and delay no others', async () => {
    const tries: string[] = [];
    const answers: Record<string, () => Promise<number | null>> = {
      early: () => Promise.resolve(null),
      broken: () => Promise.reject(new Error('disk full')),
    };
    const { clock, index, deadlines, log, start } = setUp((callId) => {
      tries.push(callId);
      return answers[callId]?.() ?? Promise.resolve(1);
    });
    deadlines.start();
    index.set('early', start + 10);
    index.set('broken', start + 10);
    await clock.advanceAsync(10);
    expect(tries).toEqual(['early', 'broken']);
    await clock.advanceAsync(900);
    expect(tries).toHaveLength(2);
    await clock.advanceAsync(200);
    expect(tries).toHaveLength(4);
    expect(log.entries.some((entry) => entry.level === 'warn')).toBe(true);
    await deadlines.stop();
    await clock.advanceAsync(5000);
    expect(tries).toHaveLength(4);
  });

  it('of a call that stays due by the view are tried again after longer and longer pauses', async () => {
    const tries: number[] = [];
    let position: number | null = null;
    const { clock, index, deadlines, start } = setUp(() => {
      tries.push(Math.round((clock.now() - start) / 1000));
      if (position !== null) index.set('held', null);
      return Promise.resolve(position);
    });
    index.set('held', start);
    deadlines.start();
    await clock.advanceAsync(110_000);
    expect(tries).toEqual([0, 1, 3, 7, 15, 31, 63, 95]);
    position = 1;
    await clock.advanceAsync(33_000);
    expect(tries).toHaveLength(9);
    await deadlines.stop();
  });

  it('that fail at once take no place for ever', async () => {
    const tries: string[] = [];
    const { clock, index, deadlines, start } = setUp((callId) => {
      tries.push(callId);
      if (callId !== 'last') throw new Error('no handler');
      index.set(callId, null);
      return Promise.resolve(1);
    });
    for (let n = 0; n < 64; n += 1) index.set(`call-${String(n)}`, start);
    index.set('last', start + 1);
    deadlines.start();
    await clock.advanceAsync(200);
    expect(tries).toContain('last');
    await deadlines.stop();
  });
});
