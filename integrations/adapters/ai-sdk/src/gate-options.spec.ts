// Options that would leave a tool behind another gate than its author meant.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount } from 'ai';
import { scriptedModel } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools, type ToolGate } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

function gateOf(gate: unknown, refund = tools.refund) {
  const { fetch } = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch };
  const made = gateTools(options, { refund }, { refund: gate as ToolGate<{ amount: number }> });
  closers.push(made.close);
  return made;
}

describe('the options of a gate', () => {
  it.each([{ expiresInMS: 1000 }, { needApproval: false }, { signalOf: () => undefined }])(
    'are a TypeError when they have a member that is none: %j',
    (gate) => {
      expect(() => gateOf(gate)).toThrow(/^tool refund: the gate does not take `\w+`: it is no option of it$/);
    },
  );

  it('are a TypeError when they allow a decision that there is not', () => {
    expect(() => gateOf({ allowedDecisions: ['aprove'] })).toThrow(/`allowedDecisions` has aprove/);
  });
});

describe('a tool with `needsApproval` of the framework', () => {
  const own = { needsApproval: true };
  const asking: typeof tools.refund = { ...tools.refund, ...own };

  it.each([false, ({ amount }: { amount: number }) => amount > 100])(
    'is a TypeError when the gate would ask less often: %s',
    (needsApproval) => {
      expect(() => gateOf({ needsApproval }, asking)).toThrow(/its own `needsApproval` has no effect .*: remove it/);
    },
  );

  it('is asked about when the gate asks about each call', async () => {
    const run = gateOf(true, asking).run('run');
    const { model } = scriptedModel([[{ toolCallId: 'c1', toolName: 'refund', arguments: { amount: 5 } }]]);
    const { finishReason } = await generateText({ model, ...run, prompt: 'go' });
    expect(finishReason).toBe('tool-calls');
    expect(ran).toEqual([]);
  });
});

describe('a call that the code of a gate denies', () => {
  it('does not run, no person is asked, and the model gets the reason', async () => {
    const countersign = createFakeCountersign();
    const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
    const gate = gateTools(options, tools, {
      refund: { decide: ({ amount }) => (amount > 40 ? { deny: 'by hand' } : 'allow') },
    });
    closers.push(gate.close);
    const callOf = (amount: number) => ({ toolCallId: String(amount), toolName: 'refund', arguments: { amount } });
    const script = scriptedModel([[callOf(50), callOf(5)]]);
    const { finishReason } = await generateText({
      ...{ model: script.model, prompt: 'go', stopWhen: isStepCount(5) },
      ...gate.run('run'),
    });
    expect(finishReason).toBe('stop');
    expect(script.told()['50']).toContain('The call was denied and did not run: by hand');
    expect(countersign.callOf('50')).toMatchObject({ state: 'blocked', approval: null });
    expect(countersign.callOf('5')).toMatchObject({ state: 'succeeded', approval: null });
    expect(ran).toEqual([5]);
  });
});
