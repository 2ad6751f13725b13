import { describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { Parser } from 'commonmark';
import { createDecide, type DecidePorts } from './decide.js';

const approval = {
  ...{ approvalId: 'apr_1', callId: 'tc_1', toolName: 'pay\u202e', agentId: 'a', arguments: {}, hiddenValues: [] },
  ...{
    actionDigest: 'sha256:1',
    proposal: { number: 1, digest: 'sha256:2', kind: 'run', output: null, proposedBy: 'ann' },
    ...{ runId: 'r1', chain: [], labels: {}, batch: null, responses: [], endedProposals: [] },
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
function open(filled: object, more: Partial<ApprovalView> = {}) {
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
    getApproval: async () => ({ ...approval, ...more }),
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

it.each([{ requireSignature: true }, { minAssurance: 'high' }])(
  'shows no form where only a signed answer counts: %j',
  async (more) => {
    const requirement = { ...approval.requirement, ...more } as ApprovalView['requirement'];
    const { decided, responses, forms } = open({ action: 'accept', content: { decision: 'approve' } }, { requirement });
    await expect(decided()).rejects.toThrow(
      'signed with a passkey counts. Nothing was decided. A person decides about apr_1 at',
    );
    expect([forms, responses]).toEqual([[], []]);
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
  expect(forms[0]?.message).toContain('Instruction of `bob` to the agent: `"then verify the backup"`');
  expect(responses).toMatchObject([{ shownDigest: 'sha256:3' }]);
});

it('denies what is proposed, whatever others told the agent or withdrew while the form was open', async () => {
  const { decided, responses } = open({ action: 'accept', content: { decision: 'deny' } });
  await decided();
  expect(responses).toEqual([{ decision: { type: 'deny' }, proposalDigest: approval.proposal.digest }]);
});

it('counts the hidden values of a proposed answer', async () => {
  const hiddenValues = [{ pointer: '/password', why: 'name' as const }];
  const proposal = { ...approval.proposal, kind: 'answer' as const, output: { password: '[masked]' }, hiddenValues };
  const { decided, forms } = open({ action: 'accept', content: { decision: 'approve' } }, { proposal });
  await decided();
  expect(forms[0]?.message).toContain('1 value is hidden from you: 1 by its name. The inbox can reveal them.');
});

it('opens no form about an approval that cannot be read, and says what to do', async () => {
  const detail = 'toolCall-x has an event that this version cannot read: upgrade Countersign';
  const mayDecide = { now: false as const, why: 'unreadable', detail };
  const { decided, responses, forms } = open({ action: 'accept', content: { decision: 'approve' } }, { mayDecide });
  expect(await decided()).toBe(`Nothing was decided: ${detail}`);
  expect([forms, responses]).toEqual([[], []]);
});

it('opens no form for a person who may not decide now, and says why', async () => {
  const mayDecide = {
    now: false as const,
    why: 'not-an-approver',
    detail: 'Others are asked to answer this approval.',
  };
  const { decided, responses, forms } = open({ action: 'accept', content: { decision: 'approve' } }, { mayDecide });
  expect(await decided()).toBe('Nothing was decided: Others are asked to answer this approval.');
  expect([forms, responses]).toEqual([[], []]);
});

it('says which instruction the agent gets only if it is denied', async () => {
  const instructions = [{ respondedBy: 'bob', instruction: 'use the archive', ifDenied: true as const }];
  expect(await shownFor({ instructions })).toContain(
    'Instruction of `bob` to the agent, if it is denied: `"use the archive"`',
  );
});

/** The text of the form. */
async function shownFor(more: Partial<ApprovalView>): Promise<string> {
  const { decided, forms } = open({ action: 'accept', content: { decision: 'approve' } }, more);
  await decided();
  return forms[0]?.message ?? '';
}

describe('the form', () => {
  it('shows the folder and the server of a call, the calls around it, its batch, and what others answered', async () => {
    const outer = { callId: 'tc_0', toolName: 'delegate', agentId: 'planner', runId: 'r0', requestedBy: 'ann' };
    const text = await shownFor({
      labels: { cwd: '/srv/production', mcpServer: 'files' },
      chain: [{ ...outer, owner: null, onBehalfOf: null }],
      batch: { batchId: 'b', mode: 'all-or-nothing', callIds: ['tc_1', 'tc_2'] },
      responses: [{ respondedBy: 'bob', onBehalfOf: null, decision: { type: 'approve' } }] as never,
    });
    expect(text.split(/ *\n/)).toEqual(
      expect.arrayContaining([
        'Labels: `cwd: /srv/production, mcpServer: files`',
        'Inside: `delegate of planner in run r0`',
        'Batch: `all or nothing: to deny this one cancels tc_2`',
        'Response: `bob approved`',
      ]),
    );
  });

  it('says that an approval may release the other calls of its step', async () => {
    expect(await shownFor({ shownOthersDigest: 'sha256:4' })).toContain('Step: `To approve this one may release');
    expect(await shownFor({})).not.toContain('Step:');
  });

  it('says what of the schema did not check the arguments', async () => {
    const schemaNotes = [{ pointer: '/properties/a/pattern', why: 'is odd' }];
    expect(await shownFor({ schemaNotes })).toContain('by the tool’s schema at "/properties/a/pattern"`  \n');
    expect(await shownFor({})).not.toContain('schema');
  });

  it('warns where right-to-left letters would move numbers and signs', async () => {
    const warning = 'Text that is written from right to left: the order of numbers';
    expect(await shownFor({ arguments: { command: 'mv א 1' } })).toContain(warning);
    expect(await shownFor({ arguments: { note: 'שלום, עולם' } })).not.toContain(warning);
  });

  it('names the person who edited the arguments, and those whose earlier edits were not approved', async () => {
    const edited = { ...approval.proposal, number: 2, proposedBy: 'bob' };
    expect(await shownFor({ proposal: edited })).toContain('Arguments, as `bob` edited them:');
    const ended = [{ approvalId: 'apr_0', number: 2, kind: 'run' as const, proposedBy: 'bob', proposedAt: '' }];
    expect(await shownFor({ endedProposals: ended })).toContain('Not approved before: `edit by bob`\n');
  });

  it('quotes names that read like words of the form, and has the words of the agent last', async () => {
    const text = await shownFor({
      toolName: 'ls. Risk: low. Approved by alice',
      agentId: 'a, requested by alice',
      description: 'Risk: low',
    });
    expect(text).toContain('May the tool `"ls. Risk: low. Approved by alice"` run?');
    expect(text).toContain('Agent: `"a, requested by alice"` in run `r1`');
    expect(text.split(/ *\n/).slice(-2)).toEqual([
      "The agent's own words (untrusted: judge by the arguments above):",
      'Description: `"Risk: low"`',
    ]);
  });

  it('is not opened where the marks of unseen letters make it too long', async () => {
    const posing = Object.fromEntries(
      Array.from({ length: 40 }, (_, n) => [`k${String(n)}`, 'a' + '\u0430'.repeat(90)]),
    );
    await expect(open({ action: 'cancel' }, { arguments: posing }).decided()).rejects.toThrow('too long for a form');
  });

  const hostile = [
    '1", "safe": "true',
    '<!--',
    '-->',
    '[https://good.example](https://evil.example)',
    'rm *important*',
    '![x](https://evil.example/p.png)',
    '&quot;',
    '`',
    '``` <b>',
  ];

  it('has the arguments and a proposed answer as one block of code each in Markdown, as they are', async () => {
    const args = Object.fromEntries(hostile.map((text, index) => [`${text}${String(index)}`, text]));
    const proposal = { ...approval.proposal, kind: 'answer' as const, output: hostile };
    const message = await shownFor({ arguments: args, proposal });
    const blocks = piecesOf(message).flatMap(({ type, literal }) => (type === 'code_block' ? [literal] : []));
    expect(blocks).toEqual([args, hostile].map((value) => `${JSON.stringify(value, null, 2)}\n`));
    expect(piecesOf(await shownFor({ arguments: {} }))).toContainEqual({ type: 'code_block', literal: '{}\n' });
  });

  it.each(hostile)('has no text of others but as code in Markdown: %s', async (text) => {
    const outer = { callId: 'tc_0', toolName: text, agentId: text, runId: text, requestedBy: text };
    const responses = [{ respondedBy: text, onBehalfOf: null, decision: { type: 'approve' } }] as never;
    const message = await shownFor({
      ...{ toolName: text, agentId: text, runId: text, labels: { cwd: text, [text]: 'a' }, requestedBy: text },
      ...{ owner: text, onBehalfOf: text, chain: [{ ...outer, owner: null, onBehalfOf: null }], responses },
      ...{
        description: text,
        reason: text,
        title: text,
        proposal: { ...approval.proposal, proposedBy: text, number: 2 },
      },
      instructions: [{ respondedBy: text, instruction: text }],
    });
    const pieces = piecesOf(message).filter(({ type }) => type !== 'code' && type !== 'code_block');
    expect(new Set(pieces.map(({ type }) => type))).toEqual(new Set(['document', 'paragraph', 'text', 'linebreak']));
    const ours = pieces.map(({ literal }) => literal ?? '').join('');
    expect(ours).toMatch(/^[\w .:,;()'/?-]+$/);
    expect(ours).not.toMatch(/evil|good|safe|important|quot/);
  });
});

function piecesOf(message: string): readonly { readonly type: string; readonly literal: string | null }[] {
  const pieces: { readonly type: string; readonly literal: string | null }[] = [];
  const walker = new Parser().parse(message).walker();
  for (let step = walker.next(); step !== null; step = walker.next()) {
    const { type, literal } = step.node;
    if (step.entering) pieces.push({ type, literal });
  }
  return pieces;
}
