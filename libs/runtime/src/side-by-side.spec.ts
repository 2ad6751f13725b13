import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { sideBySide } from './side-by-side.js';

it('works on a few items at once, and answers in their order', async () => {
  const [running, most]: [Set<number>, number[]] = [new Set(), []];
  const results = await sideBySide([5, 1, 4, 2, 3], 2, async (item) => {
    running.add(item);
    most.push(running.size);
    for (let turn = 0; turn < item; turn += 1) await setImmediate();
    running.delete(item);
    return item * 10;
  });
  expect(results).toEqual([50, 10, 40, 20, 30]);
  expect(Math.max(...most)).toBe(2);
});

it('begins nothing after a failure, and rejects with it', async () => {
  const begun: number[] = [];
  const work = async (item: number): Promise<void> => {
    begun.push(item);
    await setImmediate();
    if (item === 2) throw new Error('the second one');
  };
  await expect(sideBySide([1, 2, 3, 4, 5, 6], 2, work)).rejects.toThrow('the second one');
  for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  expect(begun).toEqual([1, 2, 3]);
});

it('has nothing to do without items', async () => {
  expect(await sideBySide([], 4, () => Promise.reject(new Error('never')))).toEqual([]);
});
