import { describe, expect, it } from '@jest/globals';
import type { Requirement } from '@countersign/contracts';
import { currentProposal } from './proposal.js';
import { digest, digestOf, edit, editBy, minuteMs, request, requirement, respond } from './testing/fixtures.js';
import { stage, verdict } from './testing/fixtures.js';
import { history, stateAfter } from './testing/given.js';
import { currentApproval } from './tool-call.state.js';
import type { EditDecision } from './tool-call.response-commands.js';
import type { Approval } from './tool-call.state.js';

const twoOf: Partial<Requirement> = { stages: [stage({ approve: 2, deny: 2 })] };

/** An edit under the rule of the request. */
const underRule = (actionDigest: string, change: Partial<Requirement>, judged: Partial<Required> = {}) =>
  edit('a', {
    actionDigest,
    judgement: {
      ...{ outcome: 'require', verdict: verdict() },
      ...{ requirement: requirement({ ...twoOf, ...change }), ...judged },
    },
  });
type Required = Extract<EditDecision['judgement'], { readonly outcome: 'require' }>;

/** An edit that leaves the arguments as they are, under the same rule of a policy that changed in another place. */
const unchanged = (change: Partial<Requirement> = {}) =>
  underRule(digest, change, { verdict: { ...verdict(), policyVersion: digestOf('e') } });

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

describe('an edit under the rule of the request, in the same policy', () => {
  it.each<[string, Partial<Requirement>, Partial<Requirement>]>([
    ['denies sooner', {}, { expiresInMs: minuteMs }],
    ['ends the time', { expiresInMs: 'never' }, {}],
    ['allows fewer decisions', {}, { allowedDecisions: ['approve', 'deny'] }],
  ])('asks as well what a rule that counts too requires, where that %s', (_, asked, now) => {
    const approval = editedUnder(asked, underRule(digestOf('d'), now));
    expect(currentProposal(approval)).toMatchObject({ number: 2, requirements: [asked, now] });
  });

  it.each<Requirement['expiresInMs']>([120 * minuteMs, 'never'])(
    'is asked as the request was, which set the time that the rule does not: %s',
    (expiresInMs) => {
      const open = underRule(digest, {}, { isExpiryOpen: true });
      expect(editedUnder({ expiresInMs }, open).resolution.status).toBe('approved');
      const laterRule = { ...open.judgement, verdict: { ...verdict(), policyVersion: digestOf('e') } };
      expect(editedUnder({ expiresInMs }, { ...open, judgement: laterRule }).resolution.status).toBe('pending');
    },
  );
});
