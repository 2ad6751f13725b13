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
