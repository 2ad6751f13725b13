import { expect, it } from '@jest/globals';
import { cancelWaitingFirst } from './cancel-waiting.js';

it('cancels what waits before what it waits for, the last one first, and tells it in the given order', async () => {
  const open = ['a', 'b', 'c', 'd'].map((callId) => ({
    ...{ callId, requestedBy: 'agent' },
    ...(callId === 'a' || callId === 'd' ? {} : { waitsForTurn: true as const }),
  }));
  const events: string[] = [];
  const cancel = async (callId: string) => {
    events.push(callId);
    await Promise.resolve();
    events.push(`${callId} ended`);
    return { status: 'done' as const, value: undefined, position: 1 };
  };
  const told = await cancelWaitingFirst(['a', 'b', 'c', 'd', 'closed'], open, cancel);
  expect(events.slice(0, 2)).toEqual(['c', 'b']);
  expect(events.indexOf('a')).toBeGreaterThan(events.indexOf('b ended'));
  expect(told.map(({ callId }) => callId)).toEqual(['a', 'b', 'c', 'd', 'closed']);
});
