import { describe, expect, it } from '@jest/globals';
import { deriveCallId, requestToolCallsSchema } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { gateTool } from '../tools/gate-tool.js';
import { planStep } from './plan.js';
import { requestStep } from './request-step.js';
import type { Step } from '../state.js';

const tool = gateTool({ name: 'search', inputSchema: { type: 'object' }, execute: () => null });
const toolCalls = ['1', '2'].map((toolCallId) => ({ toolCallId, toolName: 'search', arguments: {} }));
const parentCallId = deriveCallId('default', 'outer', '1');

async function sent(step: Step): Promise<RequestToolCalls | undefined> {
  let body: RequestToolCalls | undefined;
  const toolCallsOf = (given: RequestToolCalls) => {
    body = requestToolCallsSchema.parse(given);
    return Promise.resolve([]);
  };
  const plan = await planStep(step, new Map([[tool.name, tool]]), { agentId: 'researcher' });
  await requestStep({ toolCalls: toolCallsOf }, 'researcher', step, plan, {});
  return body;
}

describe('the request of a step', () => {
  it('names the call inside which each of its calls runs, and the person for whom the agent acts', async () => {
    const body = await sent({ runId: 'inner', parentCallId, onBehalfOf: 'dave', toolCalls });
    expect(body).toMatchObject({ runId: 'inner', agentId: 'researcher', onBehalfOf: 'dave' });
    expect(body?.calls.map((call) => call.parentCallId)).toEqual([parentCallId, parentCallId]);
  });

  it('names neither when the step does not', async () => {
    const body = await sent({ runId: 'inner', toolCalls });
    expect(body).not.toHaveProperty('onBehalfOf');
    expect(body?.calls[0]).not.toHaveProperty('parentCallId');
  });
});
