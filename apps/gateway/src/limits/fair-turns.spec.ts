import { expect, it } from '@jest/globals';
import { createFairTurns } from './fair-turns.js';

it('work of a holder that has little waits for one piece of a holder that has much', async () => {
  const turns = createFairTurns(1);
  const done: string[] = [];
  const work = (holder: string) => turns.run(holder, () => Promise.resolve(void done.push(holder)));
  await Promise.all([...Array.from({ length: 100 }, () => work('many')), work('few'), work('few')]);
  expect(done.slice(0, 5)).toEqual(['many', 'many', 'few', 'many', 'few']);
  expect(done).toHaveLength(102);
});

it('no more pieces run at the same time than it was told, also when one fails', async () => {
  const turns = createFairTurns(3);
  let [running, most] = [0, 0];
  const work = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await Promise.resolve();
    running -= 1;
    throw new Error('broken');
  };
  const results = await Promise.allSettled(Array.from({ length: 20 }, (_, n) => turns.run(String(n % 4), work)));
  expect(results.filter(({ status }) => status === 'rejected')).toHaveLength(20);
  expect(most).toBe(3);
});
