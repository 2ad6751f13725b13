import { describe, expect, it } from '@jest/globals';
import { MappingError, OtherPersonError, OtherSignInError, StaleResponseError } from './mapping-error.js';
import type { Asking } from './question.js';
import { interactionProcessed, interactionRequested, responseToInteraction } from './user-interaction.js';
import type { ToolApproval } from './user-interaction.js';

const digest = `sha256:${'ab'.repeat(32)}`;
const shownDigest = `sha256:${'cd'.repeat(32)}`;
const parameters = { path: '/etc/hosts', line: 3 };
const rule: Omit<Asking, 'approvalId' | 'instructions' | 'proposal' | 'requestedBy' | 'shownDigest'> = {
  ...{ allowedDecisions: ['approve', 'edit', 'deny'], requirement: { requireReason: ['deny'] } },
  progress: [{ approvedBy: ['bob'], deniedBy: [], missing: 1, missingOf: null }],
  ...{ batch: null, labels: {}, responses: [], shownRevision: 2 },
};
const approval = {
  ...{ approvalId: 'apr_1', runId: 'thread-1', toolName: 'delete_line', toolDescription: 'Deletes a line of a file' },
  ...{ arguments: parameters, description: null },
  ...{ requestedAt: '2026-11-29T12:00:00.000Z', expiresAt: '2026-11-29T12:01:00.000Z' },
  proposal: { digest, number: 1, kind: 'run', output: null, proposedBy: 'agent' },
  ...{ shownDigest, requestedBy: 'agent', instructions: [{ respondedBy: 'bob', instruction: 'then call' }] },
  ...rule,
} as const;
const kim = 'desk#kim';
const by = (person: string, sentIn = 'first') => ({ person, signIn: 'first', sentBy: person, sentIn });
const place = { workflowId: 'flow', nodeId: 'node-2', person: kim };
const asked = interactionRequested(approval, place);

/** What the dialog of the source returns. */
const dialog = (result: Partial<ToolApproval>): ToolApproval => ({
  toolName: asked.metadata.toolApproval.toolName,
  toolDescription: asked.metadata.toolApproval.toolDescription,
  toolParameters: asked.metadata.toolApproval.toolParameters,
  approved: false,
  ...result,
});
const responded = (result: Partial<ToolApproval>) => ({
  interactionId: asked.interactionId,
  inputData: dialog(result),
});
const answerOf = (result: Partial<ToolApproval>) => responseToInteraction(responded(result), approval, by(kim));

describe('an interaction with the user of a workflow', () => {
  it('has all that the source puts into the event, and its names', () => {
    expect(asked).toEqual({
      ...{ type: 'USER_INTERACTION_REQUESTED', timestamp: Date.parse('2026-11-29T12:00:00.000Z'), workflowId: 'flow' },
      ...{
        threadId: 'thread-1',
        nodeId: 'node-2',
        interactionId: expect.stringMatching(/^apr_1(\/sha256:[0-9a-f]{64}){2}$/),
        operationType: 'TOOL_APPROVAL',
      },
      prompt: [
        'Run the tool `delete_line` with these parameters?',
        'Instruction of `bob` to the agent: `"then call"`',
      ].join('  \n'),
      timeout: 60_000,
      metadata: {
        toolApproval: {
          ...{ toolName: 'delete_line', toolDescription: 'Deletes a line of a file', toolParameters: parameters },
          approved: false,
        },
        ...{ approvalId: 'apr_1', proposalDigest: digest, shownDigest, instructions: approval.instructions },
        proposal: { number: 1, kind: 'run', output: null, proposedBy: 'agent' },
        ...{ allowedDecisions: ['approve', 'edit', 'deny'], requireReason: ['deny'], progress: approval.progress },
        questionId: asked.interactionId.split('/')[2],
        denialId: asked.interactionId.split('/')[1],
        ...{ person: kim, shownRevision: 2, answered: null, together: null, requestedBy: 'agent', labels: {} },
      },
    });
    // Without a question of the agent the description of the tool stands in its place, and the event has that already.
    const plain = interactionRequested(
      { ...approval, description: approval.toolDescription },
      { ...place, nodeId: 'n' },
    );
    expect(plain.prompt).toBe(asked.prompt);
    const own = interactionRequested({ ...approval, description: 'Delete line 3?' }, { ...place, nodeId: 'n' });
    expect(own.prompt).toBe(`${asked.prompt}  \nThe agent says: \`"Delete line 3?"\``);
    const never = interactionRequested({ ...approval, expiresAt: null }, place);
    expect(never.timeout).toBeNull();
  });

  it('says who edited the parameters, and does not say it of the request that is asked about again', () => {
    const proposal = { ...approval.proposal, number: 3, proposedBy: 'bob' };
    const promptOf = (change: object) => interactionRequested({ ...approval, proposal, ...change }, place).prompt;
    expect(promptOf({})).toMatch(/\nEdited: `bob` changed the arguments\./);
    const again = { ...proposal, number: 4, proposedBy: 'agent' };
    const prompt = promptOf({ proposal: again });
    expect(prompt).toMatch(/\nAn edit or an answer before was not approved\./);
    expect(prompt).not.toContain('`agent`');
  });

  it.each([
    ['a rejection', { approved: false }, { decision: { type: 'deny' } }],
    ['an approval', { approved: true }, { decision: { type: 'approve' } }],
    ['the same parameters', { approved: true, editedParameters: { ...parameters } }, { decision: { type: 'approve' } }],
    [
      'edited parameters and an instruction',
      { approved: true, editedParameters: { path: '/tmp/hosts', line: 3 }, userInstruction: 'only the copy' },
      { decision: { type: 'edit', arguments: { path: '/tmp/hosts', line: 3 } }, instruction: 'only the copy' },
    ],
    [
      'a rejection with the reason that the rule requires',
      { approved: false, userInstruction: 'too late' },
      { decision: { type: 'deny' }, instruction: 'too late', reason: 'too late' },
    ],
    ['a rejection with edits', { approved: false, editedParameters: {} }, { decision: { type: 'deny' } }],
  ])('answers with %s, bound to what was shown', (_, result, body) => {
    expect(answerOf(result)).toMatchObject({
      approvalId: 'apr_1',
      body: {
        ...body,
        proposalDigest: digest,
        ...('type' in body.decision && body.decision.type !== 'deny' && { shownDigest }),
      },
    });
  });

  it.each(['false', 'true', 1, null, undefined])('is refused with approved: %j, which is no boolean', (approved) => {
    expect(() => answerOf({ approved } as never)).toThrow(MappingError);
  });

  it.each([null, undefined])('has no edit with editedParameters: %j', (editedParameters) => {
    const { decision } = answerOf({ approved: true, editedParameters }).body;
    expect(decision).toEqual({ type: 'approve' });
  });

  it.each(['', 0, false, '{}', []])('is refused with editedParameters: %j, which is no object', (editedParameters) => {
    expect(() => answerOf({ approved: true, editedParameters } as never)).toThrow(MappingError);
  });

  it('has the same idempotency key when its event is read again, and another one when it is asked again', () => {
    const keyOf = (approved: boolean, shownRevision = 2): string => {
      const current = { ...approval, shownRevision };
      const again = interactionRequested(current, place);
      const event = { interactionId: again.interactionId, inputData: dialog({ approved }) };
      return responseToInteraction(event, current, by(kim)).idempotencyKey;
    };
    expect(keyOf(true)).toBe(keyOf(true));
    expect(new Set([keyOf(true), keyOf(false), keyOf(true, 3)]).size).toBe(3);
    const later = { ...approval, shownRevision: 3 };
    expect(() => responseToInteraction(responded({ approved: true }), later, by(kim))).toThrow(StaleResponseError);
    // A denial is bound to the proposal alone.
    expect(responseToInteraction(responded({}), later, by(kim)).body).toMatchObject({ decision: { type: 'deny' } });
  });

  it('counts in the sign-in in which it was given alone, where it is no denial', () => {
    const [yes, no] = [responded({ approved: true }), responded({})];
    expect(() => responseToInteraction(yes, approval, by(kim, 'second'))).toThrow(OtherSignInError);
    expect(() => responseToInteraction(yes, approval, { ...by(kim), sentIn: undefined as never })).toThrow(
      MappingError,
    );
    const { body } = responseToInteraction(no, approval, by(kim, 'second'));
    expect(body.decision).toEqual({ type: 'deny' });
  });

  it.each([
    ['approved', { approved: true, editedParameters: { path: '/tmp' }, userInstruction: 'then call' }, ['bob']],
    ['denied', { approved: false, userInstruction: 'then call' }, ['lee']],
    ['expired', null, []],
    ['cancelled', null, []],
  ] as const)('is closed with what was decided and by whom: %s', (resolution, decided, decidedBy) => {
    const progress = [{ approvedBy: ['bob'], deniedBy: ['lee'], missing: 0, missingOf: null }];
    const { instructions } = approval;
    const ended = {
      approvalId: 'apr_1',
      arguments: { path: '/tmp' },
      instructions: [...instructions],
      progress,
      proposal: approval.proposal,
      resolution,
    };
    expect(interactionProcessed(ended, asked, 7)).toEqual({
      ...{ type: 'USER_INTERACTION_PROCESSED', timestamp: 7, workflowId: 'flow', threadId: 'thread-1' },
      ...{ interactionId: asked.interactionId, operationType: 'TOOL_APPROVAL' },
      results: decided === null ? null : dialog(decided),
      metadata: { approvalId: 'apr_1', outcome: resolution, decidedBy },
    });
    expect(() => interactionProcessed({ ...ended, resolution: null }, asked, 7)).toThrow(MappingError);
    // Of a later round.
    expect(() => interactionProcessed({ ...ended, approvalId: 'apr_2' }, asked, 7)).toThrow(/not about .* apr_2/);
  });

  it('is closed with the answer that was given in place of the run, and does not say that the tool may run', () => {
    const progress = [{ approvedBy: ['bob'], deniedBy: [], missing: 0, missingOf: null }];
    const proposal = { kind: 'answer', output: { done: 'by hand' } } as const;
    const ended = { approvalId: 'apr_1', arguments: parameters, progress, proposal, resolution: 'approved' } as const;
    expect(interactionProcessed({ ...ended, instructions: [], progress }, asked, 7)).toMatchObject({
      results: null,
      metadata: { outcome: 'answered', decidedBy: ['bob'], output: { done: 'by hand' } },
    });
  });

  it('is of one person: the same question to another one has another id, and its answer is not taken', () => {
    const ofMo = interactionRequested(approval, { ...place, person: 'desk#mo' });
    expect(ofMo.interactionId).not.toBe(asked.interactionId);
    expect(interactionRequested(approval, { ...place, person: 'desk#KIM' }).interactionId).toBe(asked.interactionId);
    expect(() => responseToInteraction(responded({ approved: true }), approval, by('desk#mo'))).toThrow(MappingError);
    expect(() => responseToInteraction(responded({}), approval, by('desk#mo'))).toThrow(MappingError);
    // Attack: kim answers the dialog of mo, which is on the screen of both.
    const ofKim = { ...by('desk#mo'), sentBy: kim };
    const clicked = { ...responded({ approved: true }), interactionId: ofMo.interactionId };
    expect(() => responseToInteraction(clicked, approval, ofKim)).toThrow(OtherPersonError);
    expect(() => responseToInteraction(clicked, approval, by(kim))).toThrow(MappingError);
  });

  it('is another one when the agent would be told something else: an open dialog answers only what it shows', () => {
    const told = { ...approval, shownDigest: `sha256:${'ef'.repeat(32)}`, instructions: [] };
    const later = interactionRequested(told, place);
    expect(later.metadata.approvalId).toBe(asked.metadata.approvalId);
    expect(() => responseToInteraction(responded({ approved: true }), told, by(kim))).toThrow(MappingError);
  });

  it.each([
    ['another interaction', { ...responded({ approved: true }), interactionId: `apr_2/${shownDigest}` }],
    ['another tool', responded({ approved: true, toolName: 'read_line' })],
    ['other parameters than were asked about', responded({ approved: true, toolParameters: { path: '/etc/passwd' } })],
  ])('is refused with %s', (_, event) => {
    expect(() => responseToInteraction(event, approval, by(kim))).toThrow(MappingError);
  });
});
