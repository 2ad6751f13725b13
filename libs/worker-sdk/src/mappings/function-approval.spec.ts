import { describe, expect, it } from '@jest/globals';
import type { ToolResult } from '../results/results.js';
import { functionApprovalRequest, functionResult, proposedCallOf, responseToApproval } from './function-approval.js';
import type { FunctionApprovalResponseContent, FunctionCallContent } from './function-approval.js';
import { MappingError } from './answer.js';

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
const approval = {
  ...{ approvalId: 'apr_1', toolCallId: 'call_1', toolName: 'delete_database', arguments: args },
  proposal: { digest, number: 1, kind: 'run', output: null, proposedBy: 'agent' },
  ...{ shownDigest, instructions: [{ respondedBy: 'bob', instruction: 'then call' }] },
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
    const request = functionApprovalRequest(approval);
    expect(request).toMatchObject({ type: 'function_approval_request', id: 'apr_1' });
    expect(request.functionCall.additionalProperties).toMatchObject({
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
    expect(responseToApproval(content, approval)).toEqual({ approvalId: 'apr_1', body });
  });

  it('takes the id of the call for that of the question, and the arguments as text, as in the sample', () => {
    const { additionalProperties } = functionApprovalRequest(approval).functionCall;
    const call = { ...functionCall, ...(additionalProperties && { additionalProperties }) };
    const content = { type: 'function_approval_response', id: 'call_1', functionCall: call, approved: true } as const;
    const body = { decision: { type: 'approve' }, proposalDigest: digest, shownDigest };
    expect(responseToApproval(content, approval)).toEqual({ approvalId: 'apr_1', body });
  });

  it.each([
    ['the call of the model in place of the one that asked', {}],
    ['one digest alone', { additionalProperties: { proposalDigest: digest } }],
    ['a digest that is no text', { additionalProperties: { proposalDigest: digest, shownDigest: 1 } }],
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
    expect(functionResult(ended({ status: 'expired', message: 'No person answered.' }))).toMatchObject({
      result: 'No person answered.',
    });
    const instructed = ended({ output: 1, instruction: 'tell the owner' });
    expect(functionResult(instructed)).toMatchObject({ result: '1\nInstruction of the approver: tell the owner' });
  });
});
