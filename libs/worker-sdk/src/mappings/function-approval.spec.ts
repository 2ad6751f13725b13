import { describe, expect, it } from '@jest/globals';
import type { ToolResult } from '../results/results.js';
import { functionApprovalRequest, functionResult, proposedCallOf, responseToApproval } from './function-approval.js';
import type { FunctionApprovalResponseContent, FunctionCallContent } from './function-approval.js';
import type { Asking } from './answer.js';
import { MappingError, StaleResponseError } from './answer.js';

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
const rule: Pick<Asking, 'allowedDecisions' | 'progress' | 'requirement'> = {
  ...{ allowedDecisions: ['approve', 'edit', 'deny'], requirement: { requireReason: ['deny'] } },
  progress: [{ approvedBy: ['bob'], deniedBy: [], missing: 1, missingOf: null }],
};
const approval = {
  ...{ approvalId: 'apr_1', toolCallId: 'call_1', toolName: 'delete_database', arguments: args },
  proposal: { digest, number: 1, kind: 'run', output: null, proposedBy: 'agent' },
  ...{ shownDigest, instructions: [{ respondedBy: 'bob', instruction: 'then call' }] },
  ...rule,
} as const;

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
    const request = functionApprovalRequest(approval, 'q1');
    expect(request).toMatchObject({ type: 'function_approval_request', id: 'apr_1' });
    expect(request.functionCall.additionalProperties).toMatchObject({
      questionId: 'q1',
      proposal: { number: 1, kind: 'run' },
      instructions: [{ respondedBy: 'bob', instruction: 'then call' }],
    });
    expect(request.functionCall).toMatchObject({ type: 'function_call', callId: 'call_1', name: 'delete_database' });
    expect(proposedCallOf(request.functionCall)).toEqual(proposedCallOf(functionCall));
  });

  it.each([
    [true, 'approve'],
    [false, 'deny'],
  ])('answers with approved: %s as the source sends it', (approved, type) => {
    const request = functionApprovalRequest(approval);
    // Through JSON, as a chat message goes.
    const content = JSON.parse(
      JSON.stringify({
        type: 'function_approval_response',
        ...{ id: request.id, functionCall: request.functionCall, approved },
      }),
    ) as FunctionApprovalResponseContent;
    const body = { decision: { type }, proposalDigest: digest, shownDigest };
    expect(responseToApproval(content, approval)).toMatchObject({ approvalId: 'apr_1', body });
  });

  it.each(['false', 'true', 1, null, undefined])('is refused with approved: %j, which is no boolean', (approved) => {
    const { id, functionCall: call } = functionApprovalRequest(approval);
    const content = { type: 'function_approval_response', id, functionCall: call, approved } as never;
    expect(() => responseToApproval(content, approval)).toThrow(MappingError);
  });

  it('has the same idempotency key when its message is read again, and another one for another question or answer', () => {
    const keyOf = (approved: boolean, questionId?: string): string => {
      const { id, functionCall: call } = functionApprovalRequest(approval, questionId);
      return responseToApproval({ type: 'function_approval_response', id, functionCall: call, approved }, approval)
        .idempotencyKey;
    };
    expect(keyOf(true, 'q1')).toBe(keyOf(true, 'q1'));
    expect(new Set([keyOf(true, 'q1'), keyOf(false, 'q1'), keyOf(true, 'q2'), keyOf(true), keyOf(true)]).size).toBe(5);
  });

  it('is stale when another proposal or instruction is asked about since', () => {
    const { id, functionCall: call } = functionApprovalRequest(approval);
    const content = { type: 'function_approval_response', id, functionCall: call, approved: true } as const;
    const other = `sha256:${'ef'.repeat(32)}`;
    const edited = { ...approval, arguments: { database: 'all', force: true }, shownDigest: other };
    const proposed = { ...edited, proposal: { ...approval.proposal, digest: other, number: 2 } };
    expect(() => responseToApproval(content, proposed)).toThrow(StaleResponseError);
    expect(() => responseToApproval(content, { ...approval, shownDigest: other })).toThrow(StaleResponseError);
    // Attack: other arguments under the digests of now.
    expect(() => responseToApproval(content, { ...approval, arguments: edited.arguments })).toThrow(/other arguments/);
  });

  it('takes the id of the call for that of the question, and the arguments as text, as in the sample', () => {
    const { additionalProperties } = functionApprovalRequest(approval).functionCall;
    const call = { ...functionCall, ...(additionalProperties && { additionalProperties }) };
    const content = { type: 'function_approval_response', id: 'call_1', functionCall: call, approved: true } as const;
    const body = { decision: { type: 'approve' }, proposalDigest: digest, shownDigest };
    expect(responseToApproval(content, approval)).toMatchObject({ approvalId: 'apr_1', body });
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
    expect(() => responseToApproval(content, approval)).toThrow(
      /shown.*`functionCall` of the `function_approval_request`/,
    );
  });

  it.each([
    ['another question', { id: 'apr_2' }],
    ['another call', { functionCall: { ...functionCall, callId: 'call_2' } }],
    ['another tool', { functionCall: { ...functionCall, name: 'drop_table' } }],
    ['other arguments', { functionCall: { ...functionCall, arguments: '{"database":"customers","force":true}' } }],
    ['no arguments', { functionCall: { ...functionCall, arguments: 'orders' } }],
  ])('is refused with %s', (_, change) => {
    const content = {
      type: 'function_approval_response',
      id: 'apr_1',
      functionCall,
      approved: true,
      ...change,
    } as const;
    expect(() => responseToApproval(content, approval)).toThrow(MappingError);
  });

  it('gives the reason of the user, which the rule may require', () => {
    const request = functionApprovalRequest(approval);
    expect(request.functionCall.additionalProperties).toMatchObject({
      ...{ requireReason: ['deny'], allowedDecisions: ['approve', 'edit', 'deny'], progress: [{ missing: 1 }] },
    });
    const { id, functionCall: call } = request;
    const content = { type: 'function_approval_response', id, functionCall: call, approved: false } as const;
    const { body } = responseToApproval({ ...content, additionalProperties: { reason: 'too late' } }, approval);
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
