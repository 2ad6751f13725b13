import { Semaphore } from './semaphore.js';

const never = new AbortController().signal;

describe('a semaphore', () => {
  it('let in so many at once, the others in the order they came', async () => {
    const semaphore = new Semaphore(2);
    const entered: number[] = [];
    const enter = async (n: number): Promise<() => void> => {
      const giveBack = await semaphore.take(never);
      entered.push(n);
      return giveBack;
    };
    const [first] = await Promise.all([enter(1), enter(2)]);
    const later = [enter(3), enter(4)];
    await Promise.resolve();
    expect([semaphore.taken, semaphore.waiting, entered]).toEqual([2, 2, [1, 2]]);
    first();
    (await later[0])?.();
    (await later[1])?.();
    expect([semaphore.taken, semaphore.waiting, entered]).toEqual([1, 0, [1, 2, 3, 4]]);
  });

  it('drops only the waiter that was aborted', async () => {
    const semaphore = new Semaphore(1);
    const giveBack = await semaphore.take(never);
    const giveUp = new AbortController();
    const [leaving, staying] = [semaphore.take(giveUp.signal), semaphore.take(never)];
    giveUp.abort(new Error('enough'));
    await expect(leaving).rejects.toThrow('enough');
    giveBack();
    (await staying)();
    expect([semaphore.taken, semaphore.waiting]).toEqual([0, 0]);
    await expect(semaphore.take(giveUp.signal)).rejects.toThrow('enough');
  });
});
