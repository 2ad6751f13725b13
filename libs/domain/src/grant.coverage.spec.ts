import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Requirement } from '@countersign/contracts';
import { couldApproveAlone } from './grant.coverage.js';
import { highestRisk, isWithinRisk } from './requirement.js';
import { proposal, requirement, responder, stage, startMs } from './testing/fixtures.js';

const alone = (required: Partial<Requirement>, who = responder('alice')): boolean =>
  couldApproveAlone({ proposal: proposal(), requirement: requirement(required) }, who, startMs);

describe('couldApproveAlone', () => {
  it.each([
    ['any approver', {}],
    ['a member of a group that is asked', { stages: [stage({ groups: ['ops', 'security'] })] }],
    ['the only group of an all-of', { stages: [stage({ mode: 'all-of', groups: ['ops'] })] }],
    ['a person with enough assurance', { minAssurance: 'medium' as const }],
    ['a reason, which the grant has', { requireReason: ['approve' as const] }],
  ])('accepts %s', (_, required) => {
    expect(alone(required)).toBe(true);
  });

  it.each([
    ['a quorum of two', { stages: [stage({ approve: 2 })] }],
    ['two stages', { stages: [stage(), stage()] }],
    ['one person of each of two groups', { stages: [stage({ mode: 'all-of', groups: ['ops', 'security'] })] }],
    ['groups of others', { stages: [stage({ groups: ['security'] })] }],
    ['more assurance', { minAssurance: 'high' as const }],
    ['a signature', { requireSignature: true as const }],
    ['no approval among the decisions', { allowedDecisions: ['deny' as const] }],
  ])('rejects %s', (_, required) => {
    expect(alone(required)).toBe(false);
  });

  it('accepts a person who would be asked only at the turn of the call', () => {
    const call = { proposal: proposal({ batchMode: 'sequential' }), requirement: requirement() };
    expect(couldApproveAlone(call, responder('alice'), startMs)).toBe(true);
  });

  it('rejects the requester where four eyes are asked for', () => {
    expect(alone({}, responder('Agent '))).toBe(false);
    expect(alone({ fourEyes: false }, responder('agent'))).toBe(true);
  });
});

describe('risk', () => {
  const risks = fc.constantFrom(null, 'low' as const, 'medium' as const, 'high' as const);
  const rank = ['none', 'low', 'medium', 'high'];
  const rankOf = (risk: string | null): number => rank.indexOf(risk ?? 'none');

  it('is within a grant up to the risk that it was given for', () => {
    fc.assert(
      fc.property(risks, risks, (risk, granted) => {
        expect(isWithinRisk(risk, granted)).toBe(rankOf(risk) <= rankOf(granted));
      }),
    );
  });

  it('is the highest of all requirements', () => {
    fc.assert(
      fc.property(fc.array(risks), (all) => {
        const highest = highestRisk(all.map((risk) => requirement({ risk })));
        expect(rankOf(highest)).toBe(Math.max(0, ...all.map(rankOf)));
      }),
    );
  });
});
