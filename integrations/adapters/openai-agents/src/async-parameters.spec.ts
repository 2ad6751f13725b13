// The framework parses the parameters synchronously: with an asynchronous check each call would fail after its approval.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { Agent, run, setTracingDisabled } from '@openai/agents';
import { afterEach, expect, it } from '@jest/globals';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gatedTool } from './gated-tool.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];

afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

it('parameters with an asynchronous check end the run before a person is asked', async () => {
  setTracingDisabled(true);
  const countersign = createFakeCountersign();
  const refund = gatedTool({
    name: 'refund',
    description: 'Refunds an amount',
    parameters: z.object({ amount: z.number().refine(async (amount) => amount < 100) }),
    execute: ({ amount }) => amount,
  });
  const gate = gateTools({ url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch }, [refund]);
  closers.push(gate.close);
  const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } }]]);
  const agent = new Agent({ name: 'support', model, tools: [...gate.run('run').tools] });
  await expect(run(agent, 'go')).rejects.toThrow(
    /tool refund: its parameters are checked asynchronously.*: use a synchronous check, or check in `execute`/,
  );
  expect(() => countersign.callOf('c1')).toThrow();
});
