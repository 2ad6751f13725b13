import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { requirement, stage } from './testing/fixtures.js';
import type { Requirement } from '@countersign/contracts';
import { inForce } from './requirement.js';

const raised = (asked: Requirement, demanded: Requirement) => inForce([asked, demanded]);

describe('two requirements as one', () => {
  const one = requirement({ stages: [stage({ groups: ['ops'] })] });
  const bySecurity = requirement({ stages: [stage({ groups: ['security'] })] });
  const allOf = requirement({ stages: [stage({ mode: 'all-of', approve: 2, groups: ['ops', 'security'] })] });
  const twoOfOps = requirement({ stages: [stage({ approve: 2, groups: ['ops'] })] });
  const twoOfAll = requirement({ stages: [stage({ approve: 2 })] });

  it.each([
    ['another group', one, bySecurity],
    ['two of one group and one of another', twoOfOps, bySecurity],
    ['two of all people and one of a group', twoOfAll, bySecurity],
  ])('asks both, one after the other: %s', (_, asked, demanded) => {
    expect(raised(asked, demanded).stages).toEqual([...asked.stages, ...demanded.stages]);
    expect(raised(demanded, asked).stages).toEqual([...demanded.stages, ...asked.stages]);
  });

  it.each([
    ['one person of any group, and two of one', requirement(), twoOfOps],
    ['one of a group, and two of it', one, twoOfOps],
    ['one of a group, and one of each of two', bySecurity, allOf],
    ['two of all people, and one of each of two groups', twoOfAll, allOf],
  ])('asks the stronger one alone where it contains the other: %s', (_, weaker, stronger) => {
    expect(raised(weaker, stronger).stages).toEqual(stronger.stages);
    expect(raised(stronger, weaker).stages).toEqual(stronger.stages);
  });

  it('keeps the fewer denials of a stage that another contains', () => {
    const patient = requirement({ stages: [stage({ approve: 2, deny: 2 })] });
    expect(raised(requirement(), patient).stages).toEqual([stage({ approve: 2, deny: 1 })]);
    expect(raised(patient, requirement()).stages).toEqual([stage({ approve: 2, deny: 1 })]);
  });

  it('lets one stage stand for one stage only, because a vote counts in one', () => {
    const twice = requirement({ stages: [stage({ approve: 2 }), stage({ approve: 2 })] });
    expect(raised(twoOfAll, twice).stages).toEqual(twice.stages);
    expect(raised(twice, twoOfAll).stages).toEqual(twice.stages);
  });

  it('is satisfied only by people who satisfy both requirements', () => {
    const groups = fc.subarray(['ops', 'security', 'legal'], { minLength: 1 });
    const anyStage = fc.oneof(
      fc
        .record({ approve: fc.integer({ min: 1, max: 3 }), groups: fc.option(groups) })
        .map((written) => stage({ mode: 'quorum', ...written })),
      groups.map((all) => stage({ mode: 'all-of', approve: all.length, groups: all })),
      fc.integer({ min: 1, max: 3 }).map((approve) => stage({ mode: 'all-of', approve, groups: null })),
    );
    const anyRequirement = fc.array(anyStage, { minLength: 1, maxLength: 3 }).map((stages) => requirement({ stages }));
    const anyPeople = fc.array(fc.subarray(['ops', 'security', 'legal']), { maxLength: 6 });
    fc.assert(
      fc.property(anyRequirement, anyRequirement, anyPeople, (asked, demanded, people) => {
        fc.pre(canSatisfy(raised(asked, demanded).stages, people));
        expect(canSatisfy(asked.stages, people)).toBe(true);
        expect(canSatisfy(demanded.stages, people)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });

  it('takes the stricter of everything that has a stricter side', () => {
    const lax = requirement({
      fourEyes: false,
      requireReason: ['deny'],
      minAssurance: 'low',
      risk: null,
      executeByMs: 'never',
    });
    const strict = requirement({
      fourEyes: true,
      requireReason: ['deny', 'edit'],
      minAssurance: 'high',
      risk: 'medium',
      executeByMs: 5,
    });
    for (const result of [raised(lax, strict), raised(strict, lax)]) {
      expect(result).toMatchObject({ fourEyes: true, minAssurance: 'high', risk: 'medium', executeByMs: 5 });
      expect(result.requireReason).toEqual(expect.arrayContaining(['deny', 'edit']));
    }
    expect(raised(requirement({ executeByMs: 7 }), strict).executeByMs).toBe(5);
  });

  it('leaves the deadline as it was asked', () => {
    expect(raised(requirement({ expiresInMs: 1 }), requirement())).toMatchObject({ expiresInMs: 1 });
  });

  it('allows the decisions that both allow, and always to deny', () => {
    const asked = requirement({ allowedDecisions: ['approve', 'edit', 'deny'] });
    expect(raised(asked, requirement({ allowedDecisions: ['approve', 'answer'] })).allowedDecisions).toEqual([
      'approve',
      'deny',
    ]);
  });
});

type Stages = ReturnType<typeof requirement>['stages'];

/**
 * Returns whether each seat of all stages can be given to a different person; every person is named by their groups.
 */
function canSatisfy(stages: Stages, people: readonly (readonly string[])[]): boolean {
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
