import { describe, expect, it } from '@jest/globals';
import { requirement, stage } from './testing/fixtures.js';
import { raised } from './requirement.js';

describe('the requirement after an edit', () => {
  const one = requirement({ stages: [stage({ groups: ['ops'] })] });
  const bySecurity = requirement({ stages: [stage({ groups: ['security'] })] });
  const allOf = requirement({ stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] });

  it('asks whom the edited arguments demand, when those are no fewer', () => {
    expect(raised(one, bySecurity).stages).toEqual(bySecurity.stages);
    expect(raised(one, allOf).stages).toEqual(allOf.stages);
  });

  it('never asks fewer people than were asked', () => {
    expect(raised(allOf, one).stages).toEqual(allOf.stages);
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

  it('leaves the deadline and the allowed decisions as they were asked', () => {
    const asked = requirement({ expiresInMs: 1, allowedDecisions: ['approve', 'edit'] });
    expect(raised(asked, requirement())).toMatchObject({ expiresInMs: 1, allowedDecisions: ['approve', 'edit'] });
  });
});
