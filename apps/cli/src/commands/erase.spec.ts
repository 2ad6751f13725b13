import { expect, it } from '@jest/globals';
import type { Invocation } from '../invocation.js';
import { erase } from './erase.js';

it('waits for the keeper of a cluster, which may take a minute and a rebuild', async () => {
  const waits: (number | undefined)[] = [];
  const view = { subject: 'ann', status: 'erased', values: 1, calls: 1, openCalls: [], clearValues: 0, stream: 's' };
  const client = {
    post: async (_path: string, { timeoutMs }: { timeoutMs?: number }) => {
      waits.push(timeoutMs);
      return view;
    },
  };
  const invocation = { client, print: () => undefined, printJson: () => undefined } as unknown as Invocation;
  await erase(invocation, 'ann', { yes: true });
  expect(waits.map((waitMs = 0) => waitMs > 2 * 60_000)).toEqual([true, true]);
});
