import { sleep } from '@countersign/contracts/clock';
import { createVirtualClock } from './virtual-clock.js';

describe('the virtual clock', () => {
  it('runs timers in order of time, then of setting', () => {
    const clock = createVirtualClock(1000);
    const ran: string[] = [];
    const note = (name: string) => (): void => {
      ran.push(`${name}@${String(clock.now())}`);
    };
    clock.setTimer(20, note('late'));
    clock.setTimer(10, note('first'));
    clock.setTimer(10, note('second'));
    clock.setTimer(5, note('cancelled'))();
    expect(clock.nextInMs()).toBe(10);
    clock.advance(15);
    expect(ran).toEqual(['first@1010', 'second@1010']);
    expect(clock.runNext()).toBe(true);
    expect(clock.runNext()).toBe(false);
    expect(ran.at(-1)).toBe('late@1020');
    expect(clock.monotonic()).toBe(20);
  });

  it('runs timers that continuations set while it advances', async () => {
    const clock = createVirtualClock();
    let rounds = 0;
    const loop = async (): Promise<void> => {
      for (; rounds < 3; rounds += 1) await sleep(clock, 10);
    };
    const looping = loop();
    await clock.advanceAsync(30);
    await looping;
    expect(clock.monotonic()).toBe(30);
  });

  it('jumps in wall time alone', () => {
    const clock = createVirtualClock(1000);
    clock.jump(-500);
    expect(clock.now()).toBe(500);
    expect(clock.monotonic()).toBe(0);
  });
});
