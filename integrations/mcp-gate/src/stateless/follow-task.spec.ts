import { describe, expect, it, jest } from '@jest/globals';
import { followTask } from './served-task.js';

describe('a task of a stateless server that the client has cancelled', () => {
  it('has an unknown end when the server never ends it, and is not polled for ever', async () => {
    jest.useFakeTimers();
    try {
      let polls = 0;
      const request = async (method: string) => {
        if (method === 'tasks/get') polls += 1;
        return { result: { taskId: 'one', status: 'working' } };
      };
      const ask = async () => ({});
      const created = { taskId: 'one', status: 'working' };
      const { end, cancel } = followTask({ request, ask, isClosed: () => false }, created);
      const lost = expect(end).rejects.toThrow('the MCP server has not ended its task after its cancellation');
      await jest.advanceTimersByTimeAsync(120_000);
      cancel();
      await jest.advanceTimersByTimeAsync(120_000);
      await lost;
      const before = polls;
      await jest.advanceTimersByTimeAsync(120_000);
      expect([before > 120, polls - before]).toEqual([true, 0]);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('a task of a stateless server that does not respond', () => {
  it.each([
    ['ends after 5 minutes with an unknown outcome', false, 301_000, 'does not say how its task is'],
    ['ends a minute after its cancellation', true, 61_000, 'has not ended its task after its cancellation'],
  ])('%s', async (_, isCancelled, ms, why) => {
    jest.useFakeTimers();
    try {
      const request = () => new Promise<never>(() => undefined);
      const created = { taskId: 'one', status: 'working' };
      const { end, cancel } = followTask({ request, ask: async () => ({}), isClosed: () => false }, created);
      let cause: unknown;
      end.catch((error: unknown) => (cause = error));
      await jest.advanceTimersByTimeAsync(10_000);
      if (isCancelled) cancel();
      await jest.advanceTimersByTimeAsync(ms + 61_000);
      expect(cause).toMatchObject({ message: expect.stringContaining(why) });
    } finally {
      jest.useRealTimers();
    }
  });
});
