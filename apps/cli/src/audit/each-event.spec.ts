import { describe, expect, it } from '@jest/globals';
import { eachEvent } from './each-event.js';
import type { SourceEvent } from './log-source.js';

function* eventsTo(count: number): Generator<SourceEvent> {
  for (let done = 1; done <= count; done += 1) yield { stored: undefined, damage: [], done };
}

describe('reading the events of a source', () => {
  const never = new AbortController().signal;

  it('takes each event in its order', async () => {
    const taken: number[] = [];
    expect(await eachEvent(eventsTo(1_200), never, ({ done }) => taken.push(done) > 0)).toBe(true);
    expect(taken).toEqual(Array.from({ length: 1_200 }, (_, index) => index + 1));
  });

  it('ends where an event is not taken', async () => {
    let last = 0;
    const take = ({ done }: SourceEvent): boolean => {
      last = done;
      return done < 700;
    };
    expect(await eachEvent(eventsTo(1_200), never, take)).toBe(true);
    expect(last).toBe(700);
  });

  it('notices a signal that arrives while it reads', async () => {
    const controller = new AbortController();
    setImmediate(() => {
      controller.abort();
    });
    let last = 0;
    const take = ({ done }: SourceEvent): boolean => {
      last = done;
      return true;
    };
    expect(await eachEvent(eventsTo(10_000), controller.signal, take)).toBe(false);
    expect(last).toBeLessThan(10_000);
  });
});
