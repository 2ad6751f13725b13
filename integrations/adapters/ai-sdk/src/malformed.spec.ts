import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, type ModelMessage, type UIMessage } from 'ai';
import { scriptedModel } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'refund', input: { amount: 50 } } as const;
const user: ModelMessage = { role: 'user', content: 'go' };
const text: ModelMessage = { role: 'assistant', content: 'One moment.' };

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

/** A conversation with a call that the framework asked about, as `aitxt-1`, and that people have approved. */
async function approved() {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, tools, { refund: true });
  closers.push(gate.close);
  const { resume, resumeUI, ...run } = gate.run('run');
  const script = scriptedModel([[{ ...call, arguments: call.input }]]);
  const generate = (messages: ModelMessage[]) => generateText({ model: script.model, ...run, messages });
  const paused = JSON.stringify([user, ...(await generate([user])).responseMessages]);
  const messages = JSON.parse(paused.replace(/aitxt-[^"]+/, 'aitxt-1')) as ModelMessage[];
  countersign.approve('c1');
  const goOn = async (changed: ModelMessage[]) => generate((await resume(changed)).messages);
  return { countersign, script, messages, resume, resumeUI, goOn };
}

function response(approvalId: string, isApproved = true): ModelMessage {
  return { role: 'tool', content: [{ type: 'tool-approval-response', approvalId, approved: isApproved }] };
}

describe('a history with a response of the client', () => {
  it.each<[string, (messages: ModelMessage[]) => ModelMessage[]]>([
    ['to an unknown approval', (messages) => [...messages, response('aitxt-9')]],
    [
      'several times',
      (messages) => [...messages, response('aitxt-1'), response('aitxt-1', false), response('aitxt-1')],
    ],
  ])('%s runs the approved call once', async (_, change) => {
    const { script, messages, goOn } = await approved();
    await goOn(change(messages));
    expect(script.told()).toEqual({ c1: '{"refunded":50}' });
    expect(ran).toEqual([50]);
  });

  it('without the request of the framework is an error, and nothing runs', async () => {
    const { script, goOn } = await approved();
    const withoutRequest: ModelMessage[] = [user, { role: 'assistant', content: [call] }, response('aitxt-1')];
    await expect(goOn(withoutRequest)).rejects.toThrow(/unknown approvalId/);
    expect(script.timesCalled()).toBe(1);
    expect(ran).toEqual([]);
  });

  it.each<[string, (messages: ModelMessage[]) => ModelMessage[]]>([
    ['before', (messages) => [...messages, response('aitxt-1'), text]],
    ['after', (messages) => [...messages, text, response('aitxt-1')]],
  ])('%s a later text cancels the call, and the model is told', async (_, change) => {
    const { countersign, script, messages, goOn } = await approved();
    await goOn(change(messages));
    expect(script.told()['c1']).toMatch(/cancelled before it ran/);
    expect(countersign.callOf('c1').state).toBe('cancelled');
    expect(ran).toEqual([]);
  });

  it('that contains a call twice runs it once', async () => {
    const { messages, goOn } = await approved();
    const twice = messages.map((message) =>
      message.role === 'assistant' && typeof message.content !== 'string'
        ? { ...message, content: [...message.content, call] }
        : message,
    );
    await goOn(twice);
    expect(ran).toEqual([50]);
  });
});

describe('malformed messages', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['text', 'go'],
    ['an object', {}],
    ['a message that is null', [null]],
    ['content that is null', [{ role: 'tool', content: null }]],
    ['text as content of a tool message', [{ role: 'tool', content: 'done' }]],
    ['a part that is null', [{ role: 'assistant', content: [null] }]],
    ['an unknown role', [{ role: 'admin', content: 'go' }]],
    [
      'an output of an unknown type',
      [{ role: 'tool', content: [{ ...call, type: 'tool-result', output: { type: 'note', value: 'refunded' } }] }],
    ],
  ])('are refused: %s', async (_, messages) => {
    const { resume } = await approved();
    await expect(resume(messages as ModelMessage[])).rejects.toThrow(
      'The messages are not ModelMessages; the cause names',
    );
  });

  const part = { type: 'tool-refund', toolCallId: 'c1', input: call.input };
  it.each<[string, unknown]>([
    ['null', null],
    ['an object', {}],
    ['a message that is null', [null]],
    ['parts that are null', [{ id: 'a', role: 'assistant', parts: null }]],
    ['a part that is null', [{ id: 'a', role: 'assistant', parts: [null] }]],
    ['an invented state', [{ id: 'a', role: 'assistant', parts: [{ ...part, state: 'approved' }] }]],
    [
      'a response without its request',
      [{ id: 'a', role: 'assistant', parts: [{ ...part, state: 'approval-responded' }] }],
    ],
  ])('of a browser are refused: %s', async (_, messages) => {
    const { resumeUI } = await approved();
    await expect(resumeUI(messages as UIMessage[])).rejects.toThrow(
      /messages parameter must be provided|Type validation failed/,
    );
  });
});
