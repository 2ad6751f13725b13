import type { RecordedEvent, SystemEvent } from '@countersign/contracts';
import { expect, it } from '@jest/globals';
import { createSiblings } from './siblings.js';

const digest = (hex: string): string => `sha256:${hex.repeat(32)}`;
let position = 0;
const siblingsOf = (processId: string) => createSiblings({ processId, isOwnStart: (eventId) => eventId === 'own' });
const recorded = (event: SystemEvent): RecordedEvent => {
  position += 1;
  const metadata = { tenant: 'default', callId: null, runId: null, schemaVersion: 2, commandId: 'c' };
  const at = `2026-11-27T10:00:0${String(position % 10)}.000Z`;
  return { ...event, eventId: 'e', metadata, stream: 's', revision: position, position, recordedAt: at };
};
const started = (processId: string, tokens: string) =>
  recorded({
    type: 'ProcessStarted',
    data: {
      ...{ processId, role: 'gateway', version: '0.1.0', commit: null, startedAt: '2026-11-27T10:00:00.000Z' },
      files: { tokens: digest(tokens), policy: digest('0f') },
    },
  });
const changed = (processId: string, tokens: string, configures: 'tokens' | 'receipts' = 'tokens') =>
  recorded({
    type: 'ConfigurationChanged',
    data: {
      ...{ processId, configures, digest: digest(tokens), added: [], changed: [], removed: [], summary: [] },
      changedAt: '2026-11-27T10:00:00.000Z',
    },
  });

it('a process whose tokens are another file than those that were recorded last says so, until it has them too', () => {
  const [mine, other] = [siblingsOf('mine'), siblingsOf('other')];
  const both = (event: RecordedEvent): void => {
    for (const one of [mine, other]) one.fold([event]);
  };
  both(started('mine', '01'));
  both(started('other', '01'));
  expect(mine.check()).toEqual({ status: 'ok' });
  both(changed('other', '02'));
  expect(JSON.stringify(mine.check())).toMatch(/^\{"status":"ok","note":".* that of process other, /);
  expect(other.check()).toEqual({ status: 'ok' });
  both(changed('mine', '02'));
  expect([mine.check(), other.check()]).toEqual([{ status: 'ok' }, { status: 'ok' }]);
});

it('a process whose keys of receipts are others says so, until it has them too', () => {
  const mine = siblingsOf('mine');
  mine.fold([changed('mine', '01', 'receipts'), changed('other', '02', 'receipts')]);
  expect(mine.check()).toMatchObject({ note: expect.stringMatching(/^the set of receipt keys of this process/) });
  mine.fold([changed('mine', '02', 'receipts')]);
  expect(mine.check()).toEqual({ status: 'ok' });
});

it('a process fails once another one has started with its id, and not because of its own earlier starts', () => {
  const mine = siblingsOf('mine');
  const start = (eventId: string, processId = 'mine'): void => {
    mine.fold([{ ...started(processId, '01'), eventId }]);
  };
  start('of an earlier process');
  start('own');
  start('own');
  start('of a sibling', 'other');
  expect(mine.check()).toEqual({ status: 'ok' });
  start('of a copy');
  expect(mine.check()).toMatchObject({
    status: 'failing',
    why: expect.stringContaining('remove process.json') as unknown,
  });
});
