import { describe, expect, it } from '@jest/globals';
import type { ToolResult } from '../results/results.js';
import { functionApprovalRequest, functionResult, proposedCallOf, responseToApproval } from './function-approval.js';
import type { FunctionApprovalResponseContent, FunctionCallContent } from './function-approval.js';
import { isRecorded } from './answer.js';
import { MappingError, OtherPersonError, StaleResponseError } from './mapping-error.js';
import { promptsOf, responsesTo } from './prompts.js';
import type { Asking } from './question.js';

/** The call of the source's usage: a tool that always requires approval. */
const functionCall: FunctionCallContent = {
  type: 'function_call',
  callId: 'call_1',
  name: 'delete_database',
  arguments: '{"database":"orders","force":true}',
};
const args = { database: 'orders', force: true };
const digest = `sha256:${'ab'.repeat(32)}`;
const shownDigest = `sha256:${'cd'.repeat(32)}`;
const rule: Omit<Asking, 'approvalId' | 'instructions' | 'proposal' | 'requestedBy' | 'shownDigest'> = {
  ...{ allowedDecisions: ['approve', 'edit', 'deny'], requirement: { requireReason: ['deny'] } },
  progress: [{ approvedBy: ['bob'], deniedBy: [], missing: 1, missingOf: null }],
  ...{ batch: null, labels: { env: 'prod' }, responses: [], shownRevision: 2 },
};
const approval = {
  ...{ approvalId: 'apr_1', toolCallId: 'call_1', toolName: 'delete_database', arguments: args },
  proposal: { digest, number: 1, kind: 'run', output: null, proposedBy: 'agent' },
  ...{ shownDigest, requestedBy: 'agent', instructions: [{ respondedBy: 'bob', instruction: 'then call' }] },
  ...{ title: 'Delete a database', description: 'Delete orders?', reason: null },
  ...rule,
} as const;

const kim = 'desk#kim';
const by = (person: string, sentIn = 'first') => ({ person, signIn: 'first', sentBy: person, sentIn });
type Responses = Asking['responses'];
const responseOf = (respondedBy: string, counted = true): Responses[number] => ({
  ...{ number: 1, respondedBy, onBehalfOf: null, decision: { type: 'approve' }, reason: null },
  ...{ respondedAt: '2026-11-29T12:00:00.000Z', via: 'desk', counted },
});
/** What kim's chat passes on. */
const answered = (
  approved: boolean,
  asked = approval as Parameters<typeof functionApprovalRequest>[0],
  person = kim,
) => {
  const { id, functionCall: call } = functionApprovalRequest(asked, person);
  return { type: 'function_approval_response', id, functionCall: call, approved } as const;
};

const ended = (change: Partial<ToolResult>): ToolResult => ({
  ...{ toolCallId: 'call_1', toolName: 'delete_database', callId: 'tc_1', status: 'succeeded', output: null },
  ...{ error: null, reason: null, message: null, instruction: null, edited: false, answered: false },
  ...{ arguments: args, decidedBy: ['alice'] },
  ...change,
});

describe('a function approval', () => {
  it('asks about the call of the message, and gives the call back without loss', () => {
    expect(proposedCallOf(functionCall)).toEqual({
      ...{ toolCallId: 'call_1', toolName: 'delete_database', arguments: args },
    });
    const request = functionApprovalRequest(approval, kim);
    expect(request).toMatchObject({ type: 'function_approval_request', id: 'apr_1' });
    expect(request.functionCall.additionalProperties).toMatchObject({
      questionId: expect.stringMatching(/^sha256:/),
      ...{ person: kim, shownRevision: 2, answered: null, together: null },
      denialId: expect.stringMatching(/^sha256:/),
      proposal: { number: 1, kind: 'run' },
      instructions: [{ respondedBy: 'bob', instruction: 'then call' }],
      ...{ labels: { env: 'prod' }, title: 'Delete a database', description: 'Delete orders?', reason: null },
    });
    expect(request.functionCall).toMatchObject({ type: 'function_call', callId: 'call_1', name: 'delete_database' });
    expect(proposedCallOf(request.functionCall)).toEqual(proposedCallOf(functionCall));
  });

  it.each([
    [true, 'approve'],
    [false, 'deny'],
  ])('answers with approved: %s as the source sends it', (approved, type) => {
    const request = functionApprovalRequest(approval, kim);
    // Through JSON, as a chat message goes.
    const content = JSON.parse(
      JSON.stringify({
        type: 'function_approval_response',
        ...{ id: request.id, functionCall: request.functionCall, approved },
      }),
    ) as FunctionApprovalResponseContent;
    // A denial is bound to the proposal alone.
    const body = { decision: { type }, proposalDigest: digest, ...(approved && { shownDigest, shownRevision: 2 }) };
    expect(responseToApproval(content, approval, by(kim))).toMatchObject({ approvalId: 'apr_1' });
    expect(responseToApproval(content, approval, by(kim)).body).toEqual(body);
  });

  it.each(['false', 'true', 1, null, undefined])('is refused with approved: %j, which is no boolean', (approved) => {
    const content = { ...answered(true), approved } as never;
    expect(() => responseToApproval(content, approval, by(kim))).toThrow(MappingError);
  });

  it('has the same idempotency key when it is given again, and another one for another question or answer', () => {
    const keyOf = (approved: boolean, asked = approval as Parameters<typeof answered>[1], person = kim): string =>
      responseToApproval(answered(approved, asked, person), asked ?? approval, by(person)).idempotencyKey;
    expect(keyOf(true)).toBe(keyOf(true));
    // Asked again while the answer of this person, or of another one, stands: it is the same question.
    expect(keyOf(true, { ...approval, responses: [responseOf(kim), responseOf('desk#mo')] })).toBe(keyOf(true));
    const others = [
      keyOf(false),
      keyOf(true, { ...approval, shownRevision: 3 }),
      keyOf(true, { ...approval, responses: [responseOf(kim, false)] }),
      keyOf(true, approval, 'desk#mo'),
    ];
    expect(new Set([keyOf(true), ...others]).size).toBe(5);
  });

  it('is bound to what the other calls of its step propose, and stale once one of them changed; a no is not', () => {
    const together = { ...approval, shownOthersDigest: digest };
    expect(responseToApproval(answered(true, together), together, by(kim)).body).toMatchObject({
      shownOthersDigest: digest,
    });
    expect(responseToApproval(answered(false, together), together, by(kim)).body).not.toHaveProperty(
      'shownOthersDigest',
    );
    const now = { ...together, shownOthersDigest: shownDigest };
    expect(() => responseToApproval(answered(true, together), now, by(kim))).toThrow(StaleResponseError);
    expect(() => responseToApproval(answered(false, together), now, by(kim))).not.toThrow();
  });

  it('is of the person for whom the question was made, in any spelling of the name, and of nobody else', () => {
    const content = answered(true);
    expect(() => responseToApproval(content, approval, by('desk#mo'))).toThrow(OtherPersonError);
    expect(() => responseToApproval(content, approval, by('desk#mo'))).toThrow(/"desk#kim", not for "desk#mo"/);
    expect(responseToApproval(content, approval, by('desk#Kim'))).toEqual(
      responseToApproval(content, approval, by(kim)),
    );
    // Attack: the question of kim under the name of mo.
    const { functionCall: call } = content;
    const renamed = { ...call, additionalProperties: { ...call.additionalProperties, person: 'desk#mo' } };
    const forged = { ...content, functionCall: renamed };
    expect(() => responseToApproval(forged, approval, by('desk#mo'))).toThrow(StaleResponseError);
  });

  it.each([[undefined], [''], [7]])('is refused when its question does not say for whom it was made: %j', (person) => {
    const content = answered(true);
    const { functionCall: call } = content;
    const old = {
      ...content,
      functionCall: { ...call, additionalProperties: { ...call.additionalProperties, person } },
    };
    expect(() => responseToApproval(old, approval, by(kim))).toThrow(/for whom it was made: ask again/);
  });

  it('is stale when another question is asked since, also when it shows the same', () => {
    const content = answered(true);
    const other = `sha256:${'ef'.repeat(32)}`;
    const edited = { ...approval, arguments: { database: 'all', force: true }, shownDigest: other };
    const proposed = { ...edited, proposal: { ...approval.proposal, digest: other, number: 2 } };
    const since = [
      proposed,
      { ...approval, shownDigest: other },
      // A response or an instruction was withdrawn.
      { ...approval, shownRevision: 4 },
      // The vote of this person was lost.
      { ...approval, responses: [responseOf('desk#KIM', false)] },
    ];
    for (const asked of since) expect(() => responseToApproval(content, asked, by(kim))).toThrow(StaleResponseError);
    // Attack: other arguments under the digests of now.
    const changed = { ...approval, arguments: edited.arguments };
    expect(() => responseToApproval(content, changed, by(kim))).toThrow(/other arguments/);
  });

  it.each([['desk#kim'], [''], [undefined], [7]])(
    'is refused when the message was sent by %j, for whom it was not made: what it says does not prove who clicked',
    (sentBy) => {
      const answering = { person: 'desk#mo', sentBy } as never;
      expect(() => responseToApproval(answered(true, approval, 'desk#mo'), approval, answering)).toThrow(
        OtherPersonError,
      );
    },
  );

  it('with a no to the proposal that is pending is not stale because of what others did about it', () => {
    const no = answered(false);
    const told = { ...approval, shownDigest: `sha256:${'ef'.repeat(32)}`, shownRevision: 5, instructions: [] };
    const key = responseToApproval(no, approval, by(kim)).idempotencyKey;
    expect(responseToApproval(no, told, by(kim))).toMatchObject({
      body: { proposalDigest: digest },
      idempotencyKey: key,
    });
    const since = [
      { ...approval, proposal: { ...approval.proposal, digest: `sha256:${'ef'.repeat(32)}`, number: 2 } },
      // The own answer was withdrawn.
      { ...approval, responses: [responseOf(kim, false)] },
    ];
    for (const asked of since) expect(() => responseToApproval(no, asked, by(kim))).toThrow(StaleResponseError);
  });

  it.each([['a'.repeat(8193)], ['cut \ud800']])('is refused with a reason that the ledger does not take', (reason) => {
    const content = { ...answered(false), additionalProperties: { reason } };
    expect(() => responseToApproval(content, approval, by(kim))).toThrow(MappingError);
  });

  it('shows the decision of this person that stands, and tells whether another answer says the same', () => {
    const asked = { ...approval, responses: [responseOf('desk#mo'), responseOf('desk#Kim')], instructions: [] };
    const { functionCall: call } = functionApprovalRequest(asked, kim);
    expect(call.additionalProperties).toMatchObject({ answered: 'approve' });
    const [yes, no] = [true, false].map((approved) => responseToApproval(answered(approved, asked), asked, by(kim)));
    expect([isRecorded(asked, kim, yes!), isRecorded(asked, kim, no!)]).toEqual([true, false]);
    expect(isRecorded(asked, 'desk#lee', yes!)).toBe(false);
    // Who has proposed what is asked agrees to it.
    const edit = { ...responseOf(kim), decision: { type: 'edit', arguments: args } } as const;
    expect([yes!, no!].map((mapped) => isRecorded({ ...asked, responses: [edit] }, kim, mapped))).toEqual([
      true,
      false,
    ]);
    const told = { ...asked, instructions: [{ respondedBy: kim, instruction: 'then call' }] };
    expect(isRecorded(told, kim, yes!)).toBe(false);
  });

  it('is asked for by one prompt where the calls run together or not at all', () => {
    const batch = { batchId: 'b', mode: 'all-or-nothing', callIds: ['tc_1', 'tc_2'] } as const;
    const asked = ['apr_1', 'apr_2', 'apr_3'].map((approvalId, index) =>
      functionApprovalRequest(
        {
          ...approval,
          approvalId,
          batch: { ...batch, callIds: [...batch.callIds], mode: index === 1 ? 'independent' : batch.mode },
        },
        kim,
      ),
    );
    const prompts = promptsOf(asked);
    expect(prompts.map((prompt) => prompt.map(({ id }) => id))).toEqual([['apr_1', 'apr_3'], ['apr_2']]);
    expect(responsesTo(prompts[0]!, false, 'too late')).toMatchObject([
      { id: 'apr_1', approved: false, additionalProperties: { reason: 'too late' } },
      { id: 'apr_3', approved: false },
    ]);
    const [, second] = responsesTo(prompts[0]!, true);
    const body = responseToApproval(second!, { ...approval, approvalId: 'apr_3' }, by(kim)).body;
    expect(body).toEqual({ ...body, decision: { type: 'approve' } });
    expect(body.reason).toBeUndefined();
  });

  it('takes the id of the call for that of the question, and the arguments as text, as in the sample', () => {
    const { additionalProperties } = functionApprovalRequest(approval, kim).functionCall;
    const call = { ...functionCall, ...(additionalProperties && { additionalProperties }) };
    const content = { type: 'function_approval_response', id: 'call_1', functionCall: call, approved: true } as const;
    const body = { decision: { type: 'approve' }, proposalDigest: digest, shownDigest };
    expect(responseToApproval(content, approval, by(kim))).toMatchObject({ approvalId: 'apr_1', body });
  });

  it.each([
    ['the call of the model in place of the one that asked', {}],
    ['one digest alone', { additionalProperties: { questionId: 'q1', proposalDigest: digest } }],
    ['no question', { additionalProperties: { proposalDigest: digest, shownDigest } }],
    [
      'a digest that is no text',
      { additionalProperties: { questionId: 'q1', proposalDigest: digest, shownDigest: 1 } },
    ],
  ])('is refused with %s: it does not say what was shown', (_, change) => {
    const call = { ...functionCall, ...change };
    const content = { type: 'function_approval_response', id: 'apr_1', functionCall: call, approved: true } as const;
    expect(() => responseToApproval(content, approval, by(kim))).toThrow(
      /shown.*`functionCall` of the `function_approval_request`/,
    );
  });

  it.each([
    ['another question', { id: 'apr_2' }],
    ['another call', { functionCall: { ...functionCall, callId: 'call_2' } }],
    ['another tool', { functionCall: { ...functionCall, name: 'drop_table' } }],
    ['other arguments', { functionCall: { ...functionCall, arguments: '{"database":"customers","force":true}' } }],
    ['no call', { functionCall: null as never }],
    ['no arguments', { functionCall: { ...functionCall, arguments: 'orders' } }],
  ])('is refused with %s', (_, change) => {
    const content = {
      type: 'function_approval_response',
      id: 'apr_1',
      functionCall,
      approved: true,
      ...change,
    } as const;
    expect(() => responseToApproval(content, approval, by(kim))).toThrow(MappingError);
  });

  it('gives the reason of the user, which the rule may require', () => {
    const request = functionApprovalRequest(approval, kim);
    expect(request.functionCall.additionalProperties).toMatchObject({
      ...{ requireReason: ['deny'], allowedDecisions: ['approve', 'edit', 'deny'], progress: [{ missing: 1 }] },
    });
    const { id, functionCall: call } = request;
    const content = { type: 'function_approval_response', id, functionCall: call, approved: false } as const;
    const { body } = responseToApproval(
      { ...content, additionalProperties: { reason: 'too late' } },
      approval,
      by(kim),
    );
    expect(body).toMatchObject({ decision: { type: 'deny' }, reason: 'too late' });
  });

  it('gives every call a result: the output, the words of the source for a denial, or the exception', () => {
    expect(functionResult(ended({ output: { dropped: 'orders' } }))).toEqual({
      ...{ type: 'function_result', callId: 'call_1', result: { dropped: 'orders' } },
    });
    const denied = functionResult(
      ended({ status: 'denied', reason: 'not in production', message: 'alice denied it.' }),
    );
    expect(denied).toEqual({
      ...{ type: 'function_result', callId: 'call_1' },
      result: 'Error: Tool call invocation was rejected by user. alice denied it.',
    });
    expect(functionResult(ended({ status: 'failed', message: 'it broke' }))).toMatchObject({
      exception: new Error('it broke'),
    });
    // In a stored chat.
    const failed = functionResult(ended({ status: 'failed', message: 'it broke' }));
    expect(JSON.parse(JSON.stringify(failed))).toMatchObject({ exception: { message: 'it broke' } });
    expect(functionResult(ended({ status: 'expired', message: 'No person answered.' }))).toMatchObject({
      result: 'No person answered.',
    });
    const instructed = ended({ output: 1, instruction: 'tell the owner' });
    expect(functionResult(instructed)).toMatchObject({ result: '1\nInstruction of the approver: tell the owner' });
  });
});
