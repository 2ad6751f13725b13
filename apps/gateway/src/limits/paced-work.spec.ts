import { setImmediate } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { createPacedWork } from './paced-work.js';

/** Work that takes as long as it says, and the turns of the event loop that went by before each piece. */
function paced() {
  let [now, turn, isOver] = [0, 0, false];
  const ended: { readonly name: string; readonly turn: number }[] = [];
  const work = createPacedWork(() => now);
  const count = (async () => {
    for (; !isOver; turn += 1) await setImmediate();
  })();
  const run = (holder: string, ms: number, name = holder) =>
    work.run(holder, () => {
      now += ms;
      ended.push({ name, turn });
      return name;
    });
  const over = async () => {
    isOver = true;
    await count;
    return ended;
  };
  return { run, over };
}

it('short pieces run at once, without a promise', async () => {
  const { run, over } = paced();
  expect([run('a', 0.5), run('b', 0.5)]).toEqual(['a', 'b']);
  expect(new Set((await over()).map(({ turn }) => turn)).size).toBe(1);
});

it('long pieces run one after another, with turns of others between them', async () => {
  const { run, over } = paced();
  await Promise.all(Array.from({ length: 5 }, async () => run('a', 10)));
  const turns = (await over()).map(({ turn }) => turn);
  const between = turns.slice(1).map((turn, index) => turn - (turns[index] ?? 0));
  expect(Math.min(...between)).toBeGreaterThanOrEqual(5);
});

it('a holder with many pieces delays another one by one piece', async () => {
  const { run, over } = paced();
  await Promise.all([...Array.from({ length: 20 }, async () => run('many', 10)), run('few', 10), run('few', 0.1)]);
  const names = (await over()).map(({ name }) => name);
  expect(names.slice(0, 5)).toEqual(['many', 'many', 'few', 'many', 'few']);
  expect(names).toHaveLength(22);
});

it('short pieces that waited stop as well once they took long together', async () => {
  const { run, over } = paced();
  await Promise.all([run('a', 10), ...Array.from({ length: 10 }, async () => run('a', 0.5))]);
  const perTurn = Object.values(Object.groupBy(await over(), ({ turn }) => turn)).map((all) => all?.length ?? 0);
  expect(perTurn).toEqual([1, 4, 4, 2]);
});

it('what a piece throws is thrown, and the next ones run', async () => {
  const work = createPacedWork(() => performance.now());
  const fail = () => {
    throw new Error('broken');
  };
  expect(() => work.run('a', fail)).toThrow('broken');
  const slow = () => {
    for (const since = performance.now(); performance.now() - since < 3;);
  };
  void work.run('a', slow);
  await expect(work.run('a', fail)).rejects.toThrow('broken');
  await expect(work.run('a', () => Promise.resolve(7))).resolves.toBe(7);
});
