import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { expect, it } from '@jest/globals';
import { generateText, tool } from 'ai';
import { z } from 'zod';
import { scriptedModel } from '../conformance/scripted-model.js';
import { gateTools } from './gate-tools.js';

it('ends a run whose `decide` never ends when the signal aborts', async () => {
  const countersign = createFakeCountersign();
  const stop = new AbortController();
  const refund = tool({ inputSchema: z.strictObject({ amount: z.int() }), execute: () => 'done' });
  const connection = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const decide = () => {
    stop.abort(new Error('the user left'));
    return new Promise<'allow'>(() => undefined);
  };
  const gate = gateTools(connection, { refund }, { refund: { decide } });
  const { tools, toolApproval } = gate.run('run', { signal: stop.signal });
  const { model } = scriptedModel([[{ toolCallId: 'c', toolName: 'refund', arguments: { amount: 5 } }]]);
  const running = generateText({ model, tools, toolApproval, prompt: 'go', abortSignal: stop.signal });
  await expect(running).rejects.toThrow('the user left');
  expect(() => countersign.callOf('c')).toThrow();
  await gate.close();
});
