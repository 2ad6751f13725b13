import { describe, expect, it } from '@jest/globals';
import { createFairQueue } from './fair-queue.js';

function filled(): ReturnType<typeof createFairQueue<string>> {
  const queue = createFairQueue<string>();
  for (const item of ['a1', 'a2', 'a3', 'b1', 'a4', 'b2', 'c1']) queue.push(item.slice(0, 1), item);
  return queue;
}

describe('a fair queue', () => {
  it('gives one item of each holder in turn, and keeps the order of one holder', () => {
    const queue = filled();
    const taken = [queue.shift(), queue.shift()];
    queue.push('b', 'b3');
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) taken.push(item);
    expect(taken).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'b3', 'a4']);
  });

  it('shows the next item without taking it', () => {
    const queue = filled();
    expect([queue.next(), queue.next(), queue.shift(), queue.next()]).toEqual(['a1', 'a1', 'a1', 'b1']);
    expect(createFairQueue().next()).toBeUndefined();
  });

  it('gives all items of one holder, and has none of them any more', () => {
    const queue = filled();
    expect([queue.takeAll('a'), queue.takeAll('a'), queue.next()]).toEqual([['a1', 'a2', 'a3', 'a4'], [], 'b1']);
  });
});
