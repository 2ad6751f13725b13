import { expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { createDecide, type DecidePorts } from './decide.js';

const approval = {
  ...{ approvalId: 'apr_1', callId: 'tc_1', toolName: 'pay\u202e', agentId: 'a', arguments: {}, hiddenValues: [] },
  ...{
    actionDigest: 'sha256:1',
    proposal: { digest: 'sha256:2', kind: 'run' },
    shownDigest: 'sha256:3',
    instructions: [{ respondedBy: 'bob', instruction: 'then verify the backup' }],
    state: 'pending',
    risk: null,
    description: null,
    reason: null,
    expiresAt: null,
  },
  ...{ allowedDecisions: ['approve', 'deny'], requestedBy: 'ann', owner: null, onBehalfOf: null },
  requirement: { stages: [], fourEyes: false, requireReason: [] },
} as unknown as ApprovalView;

/** Decides with a client that fills in the form as told. */
function open(filled: object) {
  const responses: unknown[] = [];
  const forms: { readonly message: string }[] = [];
  const server = {
    getClientCapabilities: () => ({ elicitation: { form: {} } }),
    elicitInput: async (form: { readonly message: string }) => {
      forms.push(form);
      return filled;
    },
  };
  const ledger = {
    getApproval: async () => approval,
    respond: async (_: string, body: unknown) => {
      responses.push(body);
      return { ...approval, state: 'approved' };
    },
  };
  const decide = createDecide({ server, ledger, inboxUrl: 'http://inbox.test' } as unknown as DecidePorts);
  return { responses, forms, decided: () => decide('apr_1', new AbortController().signal) };
}

it.each([{ action: 'accept' }, { action: 'accept', content: { decision: 'yes' } }])(
  'decides nothing by %j, and says so in words',
  async (filled) => {
    const { decided, responses } = open(filled);
    await expect(decided()).rejects.toThrow(
      'The client sent the form without a decision. Nothing was decided. A person decides about apr_1 at http://inbox.test',
    );
    expect(responses).toEqual([]);
  },
);

it('names the tool without characters that a person cannot see', async () => {
  const text = await open({ action: 'accept', content: { decision: 'approve' } }).decided();
  expect(text).toContain('chose "approve" for pay');
  expect(text).not.toContain('\u202e');
});

it('shows the instructions of those who voted before, and answers what was shown', async () => {
  const { decided, responses, forms } = open({ action: 'accept', content: { decision: 'approve' } });
  await decided();
  expect(forms[0]?.message).toContain('Instruction of bob to the agent: "then verify the backup"');
  expect(responses).toMatchObject([{ shownDigest: 'sha256:3' }]);
});
