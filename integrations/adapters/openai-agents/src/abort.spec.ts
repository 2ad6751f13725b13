import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { expect, it } from '@jest/globals';
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedAgentTool } from './agent-tool.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

setTracingDisabled(true);
const stops: AbortController[] = [];
const decide = () => {
  stops.pop()?.abort(new Error('the user left'));
  return new Promise<'allow'>(() => undefined);
};
const inner = new Agent({ name: 'inner', model: scriptedModel([]).model });

it.each([
  gatedTool({
    name: 'refund',
    description: 'd',
    parameters: z.strictObject({ input: z.string() }),
    execute: () => 'done',
    decide,
  }),
  gatedAgentTool({ agent: inner, toolName: 'refund', toolDescription: 'd', decide }),
])('ends a run whose `decide` never ends when the signal aborts', async (refund) => {
  const countersign = createFakeCountersign();
  const stop = new AbortController();
  stops.push(stop);
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch }, [refund]);
  const { tools } = gate.run('run', { signal: stop.signal });
  const { model } = scriptedModel([[{ toolCallId: 'c', toolName: 'refund', arguments: { input: 'x' } }]]);
  const agent = new Agent({ name: 'support', model, tools: [...tools] });
  await expect(run(agent, 'go', { signal: stop.signal })).rejects.toThrow('the user left');
  expect(() => countersign.callOf('c')).toThrow();
  await gate.close();
});
