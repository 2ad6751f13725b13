import { expect, it } from '@jest/globals';
import type { EventView } from '@countersign/contracts';
import { eventWords } from './event-words.js';

const failed = (data: object): string =>
  eventWords({ type: 'NotificationFailed', data: { channelId: 'mail', ...data } } as unknown as EventView);

it('says that a message could not be delivered and why, or that it will be retried', () => {
  const unknown = { kind: 'requested', recipient: 'bob', reason: '550 User unknown', nextAttemptAt: null };
  expect(failed(unknown)).toBe('to bob by mail could not be delivered: 550 User unknown');
  const later = {
    kind: 'denied',
    recipient: null,
    reason: '450 greylisted',
    nextAttemptAt: '2026-11-22T10:00:00.000Z',
  };
  expect(failed(later)).toBe('“denied” mail failed: 450 greylisted; it will be retried');
});
