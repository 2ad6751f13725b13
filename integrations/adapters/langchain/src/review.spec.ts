import type { ApprovalView } from '@countersign/worker-sdk';
import { describe, expect, it } from '@jest/globals';
import { agentInboxResponses, hitlResponses, interruptOf, type CountersignInterrupt } from './review.js';

const interruptFor = (approvalId: string, name: string): CountersignInterrupt => ({
  actionRequests: [{ name, args: { amount: 50, note: 'x', urgent: false } }],
  reviewConfigs: [{ actionName: name, allowedDecisions: ['approve', 'edit', 'reject', 'respond'] }],
  countersign: {
    ...{ approvalId, callId: 'tc', toolCallId: 'c1', instructions: [], requestedBy: 'agent', labels: {} },
    ...{
      proposalDigest: `digest of ${approvalId}`,
      shownDigest: `all of ${approvalId}`,
      hiddenCount: 0,
      shownRevision: 2,
    },
    proposal: { number: 1, kind: 'run', output: null, proposedBy: 'agent' },
  },
});
const two = [interruptFor('a1', 'refund'), interruptFor('a2', 'refund')];

it('an interrupt shows the answer that is proposed in place of the run, and the instructions to the agent', () => {
  const approval = {
    ...{
      approvalId: 'a1',
      callId: 'tc',
      toolCallId: 'c1',
      toolName: 'refund',
      arguments: {},
      description: 'Refund 50',
    },
    ...{
      labels: { cwd: '/srv' },
      allowedDecisions: ['approve', 'deny'],
      shownDigest: 'all',
      requirement: { minAssurance: 'high' },
    },
    proposal: { number: 2, kind: 'answer', output: { refunded: 50 }, proposedBy: 'bob', digest: 'two' },
    instructions: [{ respondedBy: 'bob', instruction: 'then call the customer' }],
  } as unknown as ApprovalView;
  const { actionRequests, reviewConfigs, countersign } = interruptOf(approval);
  // Only a signed answer counts, and that is given in the inbox.
  expect(reviewConfigs[0].allowedDecisions).toEqual([]);
  expect(actionRequests[0].description).toBe(
    [
      'Labels: `cwd: /srv`',
      'It would not run: `bob` answers in its place: `{"refunded":50}`',
      'Instruction of `bob` to the agent: `"then call the customer"`',
      'The agent says: `"Refund 50"`',
    ].join('  \n'),
  );
  expect(countersign).toMatchObject({
    proposalDigest: 'two',
    shownDigest: 'all',
    proposal: { number: 2, kind: 'answer' },
  });
});

it('an interrupt says that its arguments are an edit, and in which folder the call runs', () => {
  const approval = {
    ...{ approvalId: 'a1', callId: 'tc', toolCallId: 'c1', toolName: 'refund', arguments: { amount: 7, token: 's' } },
    ...{ description: 'Refund 50', labels: { cwd: '/srv' }, allowedDecisions: ['approve'], shownDigest: 'all' },
    ...{ requirement: {}, instructions: [], requestedBy: 'agent' },
    proposal: { number: 2, kind: 'run', output: null, proposedBy: 'bob', digest: 'two' },
  } as unknown as ApprovalView;
  const { actionRequests, countersign } = interruptOf(approval);
  const description = (words: string) => `Labels: \`cwd: /srv\`  \n${words}  \nThe agent says: \`"Refund 50"\``;
  expect(actionRequests[0]).toMatchObject({
    args: { amount: 7 },
    description: description('Edited: `bob` changed the arguments.'),
  });
  expect(countersign).toMatchObject({ proposalDigest: 'two', labels: { cwd: '/srv' }, hiddenCount: 1 });
  // The edit was withdrawn, and the request of the agent is asked about again.
  const again = interruptOf({ ...approval, proposal: { ...approval.proposal, number: 3, proposedBy: 'agent' } });
  expect(again.actionRequests[0].description).toBe(description('An edit or an answer before was not approved.'));
});

describe('decisions of the human-in-the-loop middleware', () => {
  it('are for the interrupts in their order, each with the digest that was shown', () => {
    expect(hitlResponses(two, [{ type: 'approve' }, { type: 'reject', message: 'too much' }])).toEqual([
      {
        approvalId: 'a1',
        body: {
          proposalDigest: 'digest of a1',
          shownDigest: 'all of a1',
          shownRevision: 2,
          decision: { type: 'approve' },
        },
      },
      {
        approvalId: 'a2',
        body: {
          ...{ proposalDigest: 'digest of a2', shownDigest: 'all of a2' },
          ...{ decision: { type: 'deny' }, reason: 'too much' },
        },
      },
    ]);
  });

  it('may answer in place of the tool, and must be known', () => {
    expect(hitlResponses([two[0]!], [{ type: 'respond', message: 'done by hand' }])[0]?.body.decision).toEqual({
      type: 'answer',
      output: 'done by hand',
    });
    const unknown = [{ type: 'postpone' }] as unknown as Parameters<typeof hitlResponses>[1];
    expect(() => hitlResponses([two[0]!], unknown)).toThrow('there is no decision "postpone"');
  });

  it('must be as many as the interrupts', () => {
    expect(() => hitlResponses(two, [{ type: 'approve' }])).toThrow('1 decisions for 2 calls');
  });

  it('cannot change the tool in an edit', () => {
    const edit = (name: string) => hitlResponses([two[0]!], [{ type: 'edit', editedAction: { name, args: {} } }]);
    expect(() => edit('delete_customer')).toThrow('an edit cannot change the tool');
    expect(edit('refund')[0]?.body.decision).toEqual({ type: 'edit', arguments: {} });
  });
});

describe('responses of the Agent Inbox', () => {
  it('become decisions: accept, response and ignore', () => {
    const decisionOf = (response: Parameters<typeof agentInboxResponses>[1][number]) =>
      agentInboxResponses([two[0]!], [response])[0]?.body;
    expect(decisionOf({ type: 'accept' })?.decision).toEqual({ type: 'approve' });
    expect(decisionOf({ type: 'response', args: 'done by hand' })?.decision).toEqual({
      type: 'answer',
      output: 'done by hand',
    });
    expect(decisionOf({ type: 'ignore' })).toMatchObject({ decision: { type: 'deny' }, reason: expect.any(String) });
  });

  it('write edited values as text: what was no text becomes a value again, what was a text stays one', () => {
    const args = { amount: '7', note: '8', urgent: 'true', added: '9' };
    const [response] = agentInboxResponses([two[0]!], [{ type: 'edit', args: { action: 'refund', args } }]);
    expect(response?.body.decision).toEqual({
      type: 'edit',
      arguments: { amount: 7, note: '8', urgent: true, added: '9' },
    });
  });
});
