import { groupsAsked } from '@countersign/domain';
import { requirement, stage } from './testing/test-log.js';
import { asked, requested, rowAfter } from './testing/row-after.js';
import type { Step } from './testing/row-after.js';

describe('the groups asked', () => {
  const twoStages = {
    requirement: requirement({
      stages: [stage({ groups: ['ops'] }), stage({ mode: 'all-of', groups: ['legal', 'security'] })],
    }),
  };
  const vote = (respondedBy: string, groups: string[]): Step => [
    'ApprovalResponded',
    { respondedBy, groups, resolution: 'pending', executeBy: null },
  ];
  const askedAfter = (...steps: Step[]): unknown => {
    const [approval] = rowAfter(requested, ['ApprovalRequested', twoStages], ...steps).approvals;
    return approval && groupsAsked(approval);
  };

  it('are the groups of the first stage that is not satisfied', () => {
    expect(askedAfter()).toEqual(['ops']);
    expect(askedAfter(vote('alice', ['ops']))).toEqual(['legal', 'security']);
  });

  it('are those of the last stage when all are satisfied', () => {
    expect(askedAfter(vote('alice', ['ops']), vote('bob', ['legal']), vote('carol', ['security']))).toEqual([
      'legal',
      'security',
    ]);
  });

  it('does not count one person for two groups', () => {
    const row = rowAfter(
      requested,
      [
        'ApprovalRequested',
        {
          requirement: requirement({
            stages: [stage({ mode: 'all-of', groups: ['legal', 'security'] }), stage({ groups: ['ceo'] })],
          }),
        },
      ],
      vote('bob', ['legal', 'security']),
    );
    expect(row.approvals[0] && groupsAsked(row.approvals[0])).toEqual(['legal', 'security']);
  });

  it('are asked again when a vote is withdrawn, in any case of the name', () => {
    expect(askedAfter(vote('alice', ['ops']), ['ResponseWithdrawn', { withdrawnBy: ' Alice' }])).toEqual(['ops']);
  });

  it('counts a delegate and the person they stand for once', () => {
    const row = rowAfter(
      requested,
      [
        'ApprovalRequested',
        { requirement: requirement({ stages: [stage({ approve: 2, groups: ['ops'] }), stage({ groups: ['ceo'] })] }) },
      ],
      vote('bob', ['ops']),
      [
        'ApprovalResponded',
        { respondedBy: 'alice', onBehalfOf: 'Bob', groups: ['ops'], resolution: 'pending', executeBy: null },
      ],
    );
    expect(row.approvals[0]?.votes.map(({ status }) => status)).toEqual(['void', 'counted']);
  });

  it('include the escalation groups of the current stage, which may stand in for any of its groups', () => {
    const escalated: Step = ['ApprovalEscalated', { to: ['managers'] }];
    expect(askedAfter(escalated)).toEqual(['ops', 'managers']);
    expect(askedAfter(vote('alice', ['ops']), escalated)).toEqual(['legal', 'security', 'managers']);
    expect(askedAfter(vote('alice', ['ops']), escalated, vote('bob', ['managers']), vote('carol', ['legal']))).toEqual([
      'legal',
      'security',
      'managers',
    ]);
  });

  it('are all groups where a stage names none', () => {
    expect(rowAfter(...asked).approvals.map(groupsAsked)).toEqual([null]);
  });
});
