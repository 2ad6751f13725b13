import type { BusinessHours, Requirement, Stage } from '@countersign/contracts';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { joined } from './joined.js';

const quorum = (approve: number, groups: string[] | null, deny = 1): Stage => ({
  mode: 'quorum',
  ...{ approve, deny, groups },
});
const anyOf = (...groups: string[]): Stage => quorum(1, groups);
const allOf = (...groups: string[]): Stage => ({ mode: 'all-of', approve: groups.length, deny: 1, groups });
const asked = (written: Partial<Requirement>): Requirement => ({
  ...{ stages: [anyOf('ops')], fourEyes: true, allowedDecisions: ['approve', 'deny'], requireReason: [] },
  ...{ minAssurance: null, risk: null, expiresInMs: 3000, executeByMs: 'never', onTimeout: 'deny' },
  ...{ escalation: [], remindersMs: [], ...written },
});
const both = (one: Partial<Requirement>, other: Partial<Requirement>): Requirement =>
  joined({ requirement: asked(one), isExpirySet: true }, { requirement: asked(other), isExpirySet: true }).requirement;

describe('the stages of two rules as one', () => {
  const stagesOf = (one: Stage[], other: Stage[]): readonly Stage[] => both({ stages: one }, { stages: other }).stages;

  it('lets one stage stand for one stage of the other rule, not for two', () => {
    const two = [anyOf('ops', 'sec'), anyOf('sec')];
    expect(stagesOf(two, [anyOf('sec')])).toEqual(two);
    expect(stagesOf([anyOf('sec')], two)).toEqual([anyOf('sec'), anyOf('ops', 'sec')]);
    expect(stagesOf([anyOf('a'), anyOf('a'), anyOf('a')], [quorum(2, ['a'])])).toHaveLength(3);
  });

  it('asks no more people than both rules need', () => {
    expect(stagesOf([anyOf('sec')], [quorum(1, null), anyOf('sec')])).toEqual([anyOf('sec'), quorum(1, null)]);
    // The only partner of the second stage is taken by the first one, which has another.
    expect(stagesOf([anyOf('a', 'b'), anyOf('a', 'c')], [anyOf('a'), anyOf('b')])).toEqual([anyOf('b'), anyOf('a')]);
    expect(stagesOf([quorum(1, null, 1)], [quorum(2, ['ops'], 2)])).toEqual([quorum(2, ['ops'], 1)]);
  });

  it('is satisfied only by people who satisfy both', () => {
    const names = ['ops', 'sec', 'law'];
    const groups = fc.subarray(names, { minLength: 1 });
    const anyStage = fc.oneof(
      fc.tuple(fc.integer({ min: 1, max: 3 }), fc.option(groups)).map(([approve, of]) => quorum(approve, of)),
      groups.map((all) => allOf(...all)),
    );
    const anyStages = fc.array(anyStage, { minLength: 1, maxLength: 3 });
    const anyPeople = fc.array(fc.subarray(names), { maxLength: 7 });
    fc.assert(
      fc.property(anyStages, anyStages, anyPeople, (one, other, people) => {
        fc.pre(canSatisfy(stagesOf(one, other), people));
        expect([canSatisfy(one, people), canSatisfy(other, people)]).toEqual([true, true]);
      }),
      { numRuns: 1000 },
    );
  });
});

describe('the end of two rules as one', () => {
  const businessHours: BusinessHours = { zone: 'UTC', days: ['mon', 'tue'], from: '08:00', to: '18:00' };
  const managers: Partial<Requirement> = {
    onTimeout: 'escalate',
    escalation: [{ to: ['managers'], expiresInMs: 60_000 }],
  };
  const endOf = (one: Partial<Requirement>, other: Partial<Requirement>): Partial<Requirement>[] =>
    [both(one, other), both(other, one)].map(({ onTimeout, escalation, expiresInMs, businessHours: hours }) => ({
      ...{ onTimeout, escalation, expiresInMs },
      ...(hours !== undefined && { businessHours: hours }),
    }));
  const silence: Partial<Requirement> = { onTimeout: 'allow', escalation: [] };
  const twice = (end: Partial<Requirement>): Partial<Requirement>[] => [end, end];
  const denied: Partial<Requirement> = { onTimeout: 'deny', escalation: [] };

  it('is the sooner denial where one of them counts business hours', () => {
    expect(endOf({}, { businessHours })).toEqual(twice({ ...denied, expiresInMs: 3000 }));
    expect(endOf({ expiresInMs: 9000 }, { businessHours })).toEqual(twice({ ...denied, expiresInMs: 3000 }));
    const later = { ...businessHours, from: '12:00' };
    expect(endOf({ businessHours: later }, { businessHours })).toEqual(twice({ ...denied, expiresInMs: 3000 }));
  });

  it('keeps the hours that both count, or of the only one that ends', () => {
    const ends = twice({ ...denied, expiresInMs: 3000, businessHours });
    expect(endOf({ businessHours, expiresInMs: 9000 }, { businessHours })).toEqual(ends);
    expect(endOf({ expiresInMs: 'never' }, { businessHours })).toEqual(ends);
  });

  it('is a denial where silence approves, or others are asked, in other hours', () => {
    for (const end of [managers, silence]) {
      expect(endOf({ ...end, businessHours }, end)).toEqual(twice({ ...denied, expiresInMs: 3000 }));
      const later = { ...end, businessHours, expiresInMs: 9000 };
      expect(endOf({ ...end, businessHours }, later)).toEqual(twice(later));
    }
  });

  it('holds after the longer time where both hold', () => {
    const end: Partial<Requirement> = { onTimeout: 'hold', escalation: [] };
    const held = twice({ ...end, expiresInMs: 9000, businessHours });
    expect(endOf({ ...end, businessHours }, { ...end, expiresInMs: 9000 })).toEqual(held);
  });
});

/** Returns whether each seat of all stages can be given to a different person; every person is named by their groups. */
function canSatisfy(stages: readonly Stage[], people: readonly (readonly string[])[]): boolean {
  const seats = stages.flatMap(({ mode, approve, groups }): (readonly string[] | null)[] =>
    mode === 'all-of' && groups !== null ? groups.map((group) => [group]) : Array<typeof groups>(approve).fill(groups),
  );
  const place = (at: number, free: readonly (readonly string[])[]): boolean => {
    const seat = seats[at];
    if (seat === undefined) return true;
    return free.some(
      (groups, index) =>
        (seat === null || groups.some((group) => seat.includes(group))) && place(at + 1, free.toSpliced(index, 1)),
    );
  };
  return place(0, people);
}
