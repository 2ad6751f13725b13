import { describe, expect, it } from '@jest/globals';
import type { Approval } from '@countersign/domain';
import { digestTimes, slotsAround } from './digest-slots.js';

const at = (time: string): number => Date.parse(`2026-${time}:00.000Z`);
const shown = (ms: number): string => new Date(ms).toISOString().slice(5, 16);
const hourly = { every: 'period', everyMs: 3_600_000 } as const;
const paris = { every: 'day', at: '08:00', zone: 'Europe/Paris' } as const;

describe('the digests around a time', () => {
  it.each([
    [hourly, '11-22T10:20', '11-22T10:00', '11-22T11:00'],
    [hourly, '11-22T10:00', '11-22T10:00', '11-22T11:00'],
    [paris, '11-22T06:59', '11-21T07:00', '11-22T07:00'],
    [paris, '11-22T07:00', '11-22T07:00', '11-23T07:00'],
    // Summer time ends on 25 October and began on 29 March.
    [paris, '10-24T12:00', '10-24T06:00', '10-25T07:00'],
    [paris, '03-28T12:00', '03-28T07:00', '03-29T06:00'],
    // 02:30 does not exist on that day.
    [{ ...paris, at: '02:30' }, '03-28T12:00', '03-28T01:30', '03-29T01:00'],
    [{ ...paris, at: '23:30' }, '11-22T23:00', '11-22T22:30', '11-23T22:30'],
  ] as const)('%j at %s: %s and %s', (digest, now, last, next) => {
    const { lastMs, nextMs } = slotsAround(digest, at(now));
    expect([shown(lastMs), shown(nextMs)]).toEqual([last, next]);
  });
});

const stored = (time: string): string => new Date(at(time)).toISOString();
const approval = (expires: string | null, change: object = {}, escalations: readonly object[] = []): Approval =>
  ({
    requestedAt: stored('11-22T10:20'),
    escalations,
    proposals: [
      {
        number: 1,
        requirements: [{ risk: 'low', ...change }],
        clocks: [{ expiresAt: expires === null ? null : stored(expires), since: stored('11-22T10:20') }],
      },
    ],
  }) as unknown as Approval;
const times = (given: Approval, now = '11-22T10:20') => digestTimes(hourly, given, at(now))?.map(shown) ?? null;

describe('a digest lists an approval', () => {
  it('at the next one, and again at each later one that leaves half an hour to decide', () => {
    expect(times(approval('11-22T13:00'))).toEqual(['11-22T11:00']);
    expect(times(approval('11-22T13:00'), '11-22T11:10')).toEqual(['11-22T11:00', '11-22T12:00']);
    expect(times(approval('11-22T13:00'), '11-22T12:10')).toEqual(['11-22T12:00']);
    expect(times(approval(null), '11-24T12:10')).toEqual(['11-24T12:00', '11-24T13:00']);
  });

  it('never when too little time would be left: then it is told at once', () => {
    expect(times(approval('11-22T11:20'))).toBeNull();
    expect(times(approval('11-22T11:30'))).toEqual(['11-22T11:00']);
    expect(times(approval('11-22T10:50'))).toBeNull();
  });

  it('never when its risk is high', () => {
    expect(times(approval('11-22T20:00', { risk: 'high' }))).toBeNull();
  });

  it('counting from its last escalation, so that the people who were added have time, too', () => {
    const escalations = [{ stage: 0, to: ['managers'], at: new Date(at('11-22T12:40')).toISOString() }];
    expect(times(approval('11-22T13:10', {}, escalations), '11-22T12:40')).toBeNull();
    expect(times(approval('11-22T14:00', {}, escalations), '11-22T12:41')).toEqual(['11-22T13:00']);
  });
});
