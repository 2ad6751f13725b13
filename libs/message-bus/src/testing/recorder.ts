import type { Message } from '../message-bus.js';
import type { ContractMessage } from './bus-under-test.js';

/** The id that the publisher gave the message. */
export const idOf = (message: Message): string => message.headers['ce_id'] ?? '';

/** A handler that a test can hold, fail and look at. */
export function createRecorder() {
  const handled: Message[] = [];
  const running = new Set<string>();
  const overlaps: string[] = [];
  let [most, held] = [0, false];
  let release: () => void = () => undefined;
  let gate = Promise.resolve();
  return {
    ids: () => handled.map(idOf),
    handled,
    /** The first handling of each: unsettled messages may come again. */
    firstIds: () => [...new Set(handled.map(idOf))],
    overlaps,
    running,
    mostAtOnce: () => most,
    hold: () => {
      held = true;
      gate = new Promise((resolve) => (release = resolve));
    },
    release: () => {
      held = false;
      release();
    },
    onMessage: async (message: Message): Promise<void> => {
      const key = message.key ?? idOf(message);
      if (running.has(key)) overlaps.push(key);
      running.add(key);
      most = Math.max(most, running.size);
      await (held ? gate : new Promise((resolve) => setImmediate(resolve)));
      running.delete(key);
      handled.push(message);
    },
  };
}

/** Messages `<key>.<n>`, alternating between the keys. */
export function inTurns(keys: readonly string[], each: number): ContractMessage[] {
  const numbers = Array.from({ length: each }, (_, index) => index + 1);
  return numbers.flatMap((n) => keys.map((key) => ({ id: `${key}.${n}`, key })));
}
