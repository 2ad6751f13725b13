import { afterEach, describe, expect, it } from '@jest/globals';
import { createWorker, gateTool, type Worker } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { z } from 'zod';
import * as anthropic from '../../libs/worker-sdk/examples/anthropic-messages.js';
import * as openai from '../../libs/worker-sdk/examples/openai-messages.js';

const workers: Worker[] = [];

function setUp() {
  const countersign = createFakeCountersign();
  const remove = gateTool({
    name: 'remove',
    inputSchema: z.strictObject({ path: z.string() }),
    needsApproval: ({ path }) => path.startsWith('/etc/'),
    execute: ({ path }) => ({ removed: path }),
  });
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools: [remove],
    fetch: countersign.fetch,
  });
  workers.push(worker);
  return { countersign, worker };
}

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

describe('messages of a model', () => {
  it('in the style of OpenAI become a step, and each call gets its message', async () => {
    const { worker, countersign } = setUp();
    const call = (id: string, args: string) => ({
      id,
      type: 'function' as const,
      function: { name: 'remove', arguments: args },
    });
    const tool_calls = [
      call('call_1', '{"path":"/tmp/a"}'),
      call('call_2', '{"path":"/etc/b"}'),
      call('call_3', '{pa'),
    ];
    const first = await worker.step(openai.toStep('r', { role: 'assistant', tool_calls }));
    countersign.deny('call_2', { reason: 'keep it' });
    const done = await worker.wait(first.state);
    expect(done.stopReason).toBeNull();
    expect(openai.toMessages(done)).toEqual([
      { role: 'tool', tool_call_id: 'call_1', content: '{"removed":"/tmp/a"}' },
      { role: 'tool', tool_call_id: 'call_2', content: expect.stringContaining('keep it') },
      { role: 'tool', tool_call_id: 'call_3', content: expect.stringContaining('must be a JSON object') },
    ]);
  });

  it('in the style of Anthropic become a step, and its results one message', async () => {
    const { worker, countersign } = setUp();
    const use = (id: string, path: string) => ({ type: 'tool_use' as const, id, name: 'remove', input: { path } });
    const content = [
      { type: 'text' as const, text: 'I clean up.' },
      use('toolu_1', '/tmp/a'),
      use('toolu_2', '/etc/b'),
    ];
    const first = await worker.step(anthropic.toStep('r', { role: 'assistant', content }));
    countersign.edit('toolu_2', { path: '/etc/c' });
    const done = await worker.wait(first.state);
    expect(anthropic.toMessage(done)).toEqual({
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: 'toolu_1', content: '{"removed":"/tmp/a"}', is_error: false },
        { type: 'tool_result', tool_use_id: 'toolu_2', content: expect.stringContaining('/etc/c'), is_error: false },
      ],
    });
  });
});
