import { describe, expect, it } from '@jest/globals';
import { deriveCallId, requestToolCallsSchema } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { errorOfAnswer, type CountersignError } from '../errors.js';
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

describe('a call that the server refuses', () => {
  const refusalOf = (code: string, path: string): CountersignError =>
    errorOfAnswer({ 'invalid-arguments': 422, 'payload-too-large': 413 }[code] ?? 400, {
      ...{ type: 'x', title: code, status: 400, code, detail: 'no' },
      errors: [{ path, message: 'is odd' }],
    });
  const request = async (code: string, path: string, step: Partial<Step> = {}) => {
    const bodies: string[][] = [];
    const ledger = (body: RequestToolCalls) => {
      bodies.push(body.calls.map(({ toolCallId }) => toolCallId));
      return bodies.length === 1 ? Promise.reject(refusalOf(code, path)) : Promise.resolve([]);
    };
    const asked = { runId: 'r', toolCalls, ...step };
    const plan = await planStep(asked, new Map([[tool.name, tool]]), { agentId: 'a' });
    const { state } = await requestStep({ toolCalls: ledger }, 'a', asked, plan, {});
    return { bodies, failed: state.calls.map(({ local }) => local) };
  };

  it.each([
    ['invalid-arguments', 'calls.1.arguments.to', 'Invalid arguments: to is odd'],
    ['invalid-request', 'calls.1.toolSchema', 'Refused: toolSchema is odd'],
    ['invalid-request', 'calls.1.toolCallId', 'Refused: toolCallId is odd'],
    ['payload-too-large', 'calls.1.metadata', 'Refused: metadata is odd'],
  ])('fails alone, and its siblings are requested: %s at %s', async (code, path, message) => {
    const { bodies, failed } = await request(code, path);
    expect(bodies).toEqual([['1', '2'], ['1']]);
    expect(failed).toEqual([null, { code: code === 'invalid-arguments' ? code : 'invalid-request', message }]);
  });

  it('fails its whole all-or-nothing batch', async () => {
    const { bodies, failed } = await request('invalid-request', 'calls.1.toolSchema', { batchMode: 'all-or-nothing' });
    expect(bodies).toEqual([['1', '2']]);
    expect(failed.map((one) => one?.code)).toEqual(['batch-incomplete', 'invalid-request']);
  });

  it('is none where the request itself is at fault, or two calls have one id', async () => {
    await expect(request('invalid-request', 'batchId')).rejects.toThrow('no');
    const twice = [...toolCalls, ...toolCalls.slice(0, 1)];
    await expect(request('invalid-request', 'calls.2.toolCallId', { toolCalls: twice })).rejects.toThrow('no');
  });
});
