import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import type { ApprovalContext } from '../tools/tool-definition.js';
import { planStep } from './plan.js';

const contexts: ApprovalContext[] = [];
const deleteFile = gateTool({
  name: 'delete_file',
  description: 'Deletes a file',
  inputSchema: z.strictObject({ path: z.string() }),
  needsApproval: ({ path }, context) => {
    contexts.push(context);
    return path.startsWith('/etc/');
  },
  approvalPrompt: ({ path }) => `Delete ${path}?`,
  expiresInMs: 60_000,
  allowedDecisions: ['approve', 'deny'],
  labels: { team: 'ops' },
  hints: { destructiveHint: true },
  execute: () => null,
});
const openForm = gateTool({
  name: 'open_form',
  inputSchema: { type: 'object' },
  idempotent: true,
  clientExecuted: true,
});
const tools = new Map([deleteFile, openForm].map((tool) => [tool.name, tool]));
const call = (toolCallId: string, toolName: string, args: JsonObject) => ({ toolCallId, toolName, arguments: args });

describe('the plan of a step', () => {
  it('requests every call with what its tool says about it', async () => {
    const toolCalls = [call('1', 'delete_file', { path: '/etc/x' }), call('2', 'open_form', {})];
    const { requests } = await planStep({ runId: 'r', messages: ['hello'], toolCalls }, tools, { agentId: 'ops' });
    expect(requests).toEqual([
      {
        toolCallId: '1',
        toolName: 'delete_file',
        toolDescription: 'Deletes a file',
        arguments: { path: '/etc/x' },
        needsApproval: true,
        description: 'Delete /etc/x?',
        toolSchema: deleteFile.toolSchema,
        clientExecuted: false,
        idempotent: false,
        expiresInMs: 60_000,
        allowedDecisions: ['approve', 'deny'],
        labels: { team: 'ops' },
        hints: { destructiveHint: true },
      },
      expect.objectContaining({ toolName: 'open_form', clientExecuted: true, idempotent: true, needsApproval: false }),
    ]);
    expect(contexts.at(-1)).toEqual({
      runId: 'r',
      agentId: 'ops',
      toolCallId: '1',
      messages: ['hello'],
      batch: toolCalls,
    });
  });

  it('validates before it asks the predicate, and requests no approval for invalid arguments', async () => {
    contexts.length = 0;
    const toolCalls = [call('1', 'delete_file', { path: 7 }), call('2', 'delete_file', { path: '/tmp/x' })];
    const { requests, calls } = await planStep({ runId: 'r', toolCalls }, tools, { agentId: 'ops' });
    expect(requests.map(({ toolCallId }) => toolCallId)).toEqual(['2']);
    expect(contexts.map(({ toolCallId }) => toolCallId)).toEqual(['2']);
    expect(calls[0]).toMatchObject({
      toolCallId: '1',
      callId: null,
      local: { code: 'invalid-arguments', message: expect.stringContaining('/path') },
    });
  });

  it('gives a call of an unknown tool its failure', async () => {
    const { requests, calls } = await planStep({ runId: 'r', toolCalls: [call('1', 'nope', {})] }, tools, {
      agentId: 'ops',
    });
    expect(requests).toEqual([]);
    expect(calls[0]?.local).toMatchObject({ code: 'unknown-tool' });
  });

  it('requests nothing of an all-or-nothing step with an invalid call, and every call has its failure', async () => {
    const toolCalls = [call('1', 'delete_file', { path: '/tmp/x' }), call('2', 'nope', {})];
    const { requests, calls } = await planStep({ runId: 'r', batchMode: 'all-or-nothing', toolCalls }, tools, {
      agentId: 'ops',
    });
    expect(requests).toEqual([]);
    expect(calls.map(({ local }) => local?.code)).toEqual(['batch-incomplete', 'unknown-tool']);
  });
});
