import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { currentProposal } from './proposal.js';
import { digest, digestOf, edit, editBy, minuteMs, request, requirement, respond } from './testing/fixtures.js';
import { stage, verdict } from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';
import { currentApproval } from './tool-call.state.js';
import type { Approval } from './tool-call.state.js';

const twoOf: Partial<Requirement> = { stages: [stage({ approve: 2, deny: 2 })] };

/** An edit that leaves the arguments as they are, under the same rule of a policy that changed in another place. */
const unchanged = (change: Partial<Requirement> = {}) =>
  edit('a', {
    actionDigest: digest,
    judgement: {
      outcome: 'require',
      verdict: { ...verdict(), policyVersion: digestOf('e') },
      requirement: requirement({ ...twoOf, ...change }),
    },
  });

/** The approval of a request with this requirement, after a vote and such an edit. */
function editedUnder(asked: Partial<Requirement>, decision: ReturnType<typeof edit>): Approval {
  const approval = currentApproval(
    stateAfter(history(request({ ...twoOf, ...asked }), respond('bob'), editBy('alice', decision))),
  );
  if (approval === undefined) throw new Error('no approval is recorded');
  return approval;
}

describe('an edit that leaves the arguments as they are, after a change of the policy', () => {
  it.each<[string, Partial<Requirement>, Partial<Requirement>]>([
    ['the same rule', {}, {}],
    ['a rule that the agent made shorter', { expiresInMs: 30 * minuteMs }, {}],
    ['a rule without a deadline, which the agent gave one', { expiresInMs: 30 * minuteMs }, { expiresInMs: 'never' }],
    ['a rule for which the agent allowed fewer decisions', { allowedDecisions: ['approve', 'edit', 'deny'] }, {}],
  ])('is a vote beside those before, under %s', (_, asked, now) => {
    const { resolution, votes, proposals } = editedUnder(asked, unchanged(now));
    expect(proposals).toHaveLength(1);
    expect(votes.map(({ status }) => status)).toEqual(['counted', 'counted']);
    expect(resolution.status).toBe('approved');
  });

  it.each<[string, Partial<Requirement>, Partial<Requirement>]>([
    ['denies sooner', {}, { expiresInMs: minuteMs }],
    ['ends the time', { expiresInMs: 'never' }, {}],
    ['allows fewer decisions', {}, { allowedDecisions: ['approve', 'deny'] }],
    ['asks more people', {}, { stages: [stage({ approve: 3, deny: 2 })] }],
    [
      'gives people more time before silence counts',
      { onTimeout: 'allow' },
      { onTimeout: 'allow', expiresInMs: 'never' },
    ],
  ])('asks by the new rule as well where that %s', (_, asked, now) => {
    const approval = editedUnder(asked, unchanged(now));
    expect(currentProposal(approval)).toMatchObject({ number: 2, requirements: [asked, now] });
    expect(approval.resolution.status).toBe('pending');
  });
});
