import { describe, expect, it } from '@jest/globals';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createDecidingClock } from './deciding-clock.js';
import { EventStoreUnavailableError } from './event-store.js';
import { createMeasuredClock } from './measured-clock.js';

/** A store, and a machine whose clocks can be set wrong. */
function setUp(aheadMs = 0, closing?: AbortSignal) {
  const world = createVirtualClock();
  let [wallMs, pausedMs] = [aheadMs, 0];
  const machine = {
    ...world,
    now: () => world.now() + wallMs,
    monotonic: () => world.monotonic() - pausedMs,
  };
  const time = createMeasuredClock(machine, closing);
  const asked = () => ({ sentAt: machine.monotonic() - 4, answeredAt: machine.monotonic() + 4 });
  /** The store tells its time in whole seconds, up to a second late. */
  const tell = (errorMs = 0): boolean => {
    const earliest = Math.floor((world.now() + errorMs - 300) / 1000) * 1000;
    return time.told({ time: { earliest, latest: earliest + 2000 }, asked: asked() });
  };
  return {
    ...{ world, time, tell },
    record: (errorMs = 0) => time.recorded(world.now() + errorMs, asked()),
    jump: (byMs: number) => void (wallMs += byMs),
    /** The machine sleeps: its monotonic clock stands still, its wall clock does not. */
    suspend: (forMs: number) => {
      world.advance(forMs);
      pausedMs += forMs;
    },
    errorMs: () => Math.abs(time.now() - world.now()),
  };
}

const minutesMs = 600_000;

describe('the clock of a store on another machine', () => {
  it('is not known before the store has told its time, and commands get no time until then', () => {
    const { time, tell, world } = setUp();
    const deciding = createDecidingClock(time);
    expect(time.problem()).toContain('has not told its time');
    expect(() => deciding.now()).toThrow(EventStoreUnavailableError);
    expect(tell()).toBe(true);
    expect(time.problem()).toBeUndefined();
    expect(deciding.now()).toBe(world.now());
  });

  it.each([minutesMs, -minutesMs])('is right on a machine that is off by %d ms, which is told', (offMs) => {
    const { time, tell, record, world, errorMs } = setUp(offMs);
    expect(tell()).toBe(false);
    expect(() => createDecidingClock(time).now()).toThrow(EventStoreUnavailableError);
    world.advance(1100);
    expect(tell()).toBe(true);
    expect(time.doubt()).toBeUndefined();
    expect(errorMs()).toBeLessThanOrEqual(1000);
    expect(Math.abs(time.aheadMs() - offMs)).toBeLessThanOrEqual(1000);
    const side = offMs > 0 ? 'ahead of' : 'behind';
    expect(time.problem()).toMatch(
      new RegExp(`clock is (599|600)\\.\\d s ${side} the event store's, and 2\\.0 s are allowed`),
    );
    record();
    expect(errorMs()).toBeLessThanOrEqual(5);
  });

  it('does not follow a single answer with an old time, as a server that was suspended sends it', () => {
    const { time, tell, world, errorMs } = setUp();
    tell();
    world.advance(30_000);
    expect(tell(-8000)).toBe(false);
    expect(time.problem()).toContain('asked again');
    world.advance(1100);
    expect(tell()).toBe(true);
    expect([time.problem(), errorMs()]).toEqual([undefined, 0]);
  });

  it('follows a store whose time has changed, for example to that of another leader', () => {
    const { time, tell, world, errorMs } = setUp();
    tell();
    tell(-8000);
    world.advance(1100);
    expect(tell(-8000)).toBe(true);
    expect(errorMs()).toBeGreaterThan(7000);
    expect(time.problem()).toMatch(/ahead of the event store's/);
  });

  it('is in doubt after the clock of the machine has jumped, until the store has told its time', () => {
    const { time, tell, jump, errorMs } = setUp();
    tell();
    jump(minutesMs);
    expect(errorMs()).toBe(0);
    expect(time.doubt()).toContain('jumped by 600.0 s');
    expect(time.mustAsk()).toBe(true);
    expect(tell()).toBe(true);
    expect([time.doubt(), errorMs()]).toEqual([undefined, 0]);
    expect(time.problem()).toMatch(/600\.0 s ahead/);
    jump(-minutesMs);
    tell();
    expect(time.problem()).toBeUndefined();
  });

  it('is in doubt after the machine was suspended, and right once the store has told its time', () => {
    const { time, tell, suspend, world, errorMs } = setUp();
    tell();
    suspend(minutesMs);
    expect(errorMs()).toBe(minutesMs);
    expect(() => createDecidingClock(time).now()).toThrow('jumped');
    expect(tell()).toBe(false);
    world.advance(1100);
    expect(tell()).toBe(true);
    expect(errorMs()).toBeLessThanOrEqual(1000);
    expect(time.problem()).toBeUndefined();
  });

  it('missed the time before it was known, while the machine was suspended, and until the store responded again', () => {
    const { time, tell, suspend, jump, world } = setUp();
    const before = world.now();
    expect(time.missedSince(before)).toBe(true);
    world.advance(30_000);
    tell();
    const known = time.now();
    expect([time.missedSince(before), time.missedSince(known)]).toEqual([true, false]);
    jump(minutesMs);
    tell();
    expect(time.missedSince(known)).toBe(false);
    jump(-minutesMs);
    suspend(minutesMs);
    tell();
    world.advance(1100);
    tell();
    expect(time.missedSince(known)).toBe(true);
    const asked = time.now();
    world.advance(1);
    expect(time.missedSince(asked)).toBe(false);
    time.away();
    expect([time.missedSince(asked), time.missedSince(time.now())]).toEqual([true, false]);
  });

  it('missed the time in which this process was suspended, although both clocks went on', () => {
    const closing = new AbortController();
    const { time, tell, world } = setUp(0, closing.signal);
    world.advance(30_000);
    tell();
    const asked = time.now() + 1;
    world.advance(30_000);
    expect(time.missedSince(asked)).toBe(false);
    world.block(2600);
    const meanwhile = time.now() - 1;
    expect([time.missedSince(asked), time.missedSince(meanwhile)]).toEqual([true, true]);
    expect([time.doubt(), time.missedSince(time.now())]).toEqual([undefined, false]);
    closing.abort();
    expect(world.nextInMs()).toBeUndefined();
  });

  it('learns no more from a time that was cut to whole seconds than it tells', () => {
    const { time, tell, world, errorMs } = setUp();
    tell();
    world.advance(1999 - (world.now() % 1000));
    time.recorded(world.now() - 999, { sentAt: world.monotonic() - 4, answeredAt: world.monotonic() });
    expect([world.now() % 1000, errorMs()]).toEqual([999, 0]);
  });

  it('takes no time from a repeat that was recorded long before, and asks', () => {
    const { time, tell, record, errorMs } = setUp();
    tell();
    record(-40_000);
    expect([errorMs(), time.doubt(), time.mustAsk()]).toEqual([0, undefined, true]);
    tell();
    expect(time.mustAsk()).toBe(false);
  });

  it('has a problem while every event is recorded at another time than the store tells, as behind a wrong proxy', () => {
    const { time, tell, record } = setUp();
    tell();
    for (let nth = 1; nth <= 5; nth += 1) {
      expect(time.problem()).toBeUndefined();
      record(60_000);
      tell();
    }
    expect(time.problem()).toMatch(/at another time than the event store tells/);
    record();
    expect(time.problem()).toBeUndefined();
  });
});
