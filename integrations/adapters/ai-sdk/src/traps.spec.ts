// Behaviour of the framework that would run a tool without the ledger, or would lose a call.
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { generateText, isStepCount, type ModelMessage } from 'ai';
import { scriptedModel, type ScriptedCall } from '../conformance/scripted-model.js';
import { ran, tools } from '../conformance/tools.js';
import { gateTools } from './gate-tools.js';

const closers: (() => Promise<void>)[] = [];
const { refund, lookup } = tools;
const user: ModelMessage = { role: 'user', content: 'go' };
const refundCall: ScriptedCall = { toolCallId: 'c1', toolName: 'refund', arguments: { amount: 50 } };

afterEach(async () => {
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

function conversation(turn: readonly ScriptedCall[] = [refundCall], countersign = createFakeCountersign()) {
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', fetch: countersign.fetch };
  const gate = gateTools(options, { refund, lookup }, { refund: true });
  closers.push(gate.close);
  const run = gate.run('run');
  const script = scriptedModel([turn]);
  const generate = (messages: ModelMessage[]) =>
    generateText({ model: script.model, ...run, messages, stopWhen: isStepCount(2) });
  const begin = async () => [user, ...(await generate([user])).responseMessages];
  return { countersign, run, script, generate, begin };
}

const approvalIdIn = (messages: readonly ModelMessage[]) =>
  /"approvalId":"([^"]+)"/.exec(JSON.stringify(messages))?.[1] ?? '';

const response = (approvalId: string, ...verdicts: readonly boolean[]): ModelMessage => ({
  role: 'tool',
  content: verdicts.map((approved) => ({ type: 'tool-approval-response', approvalId, approved })),
});

describe('a response of the client', () => {
  it('to an approval that the framework never requested runs nothing, and an approved call still runs', async () => {
    const { countersign, run, script, generate, begin } = conversation();
    const messages = [...(await begin()), response('invented', true)];
    await expect(generate(messages)).rejects.toThrow(/invented/);
    expect([ran, script.timesCalled()]).toEqual([[], 1]);
    countersign.approve('c1');
    await generate((await run.resume(messages)).messages);
    expect(ran).toEqual([50]);
  });

  it.each([
    [true, false],
    [false, true],
  ])('runs nothing when it says both %s and %s', async (...verdicts) => {
    const { run, generate, begin, script } = conversation();
    const messages = await begin();
    const both = [...messages, response(approvalIdIn(messages), ...verdicts)];
    await generate(both).catch(() => undefined);
    expect(ran).toEqual([]);
    expect((await run.resume(both)).pending).toHaveLength(1);
    expect(JSON.stringify(script.told())).not.toContain('refunded');
  });

  it('is no decision when the user writes after it: the call is cancelled, and the model is told', async () => {
    const { countersign, run, generate, begin, script } = conversation();
    const messages = await begin();
    const more: ModelMessage = { role: 'user', content: 'well?' };
    const resumed = await run.resume([...messages, response(approvalIdIn(messages), true), more]);
    expect(countersign.callOf('c1').state).toBe('cancelled');
    expect((await generate(resumed.messages)).text).toBe('done');
    expect(script.told()['c1']).toMatch(/cancelled before it ran/);
    expect(ran).toEqual([]);
  });
});

describe('an id that another tool had in the same run', () => {
  it('is an error that says so, and nothing is asked or runs', async () => {
    const { countersign, run } = conversation();
    const free: ScriptedCall = { toolCallId: 'c1', toolName: 'lookup', arguments: { id: 'x' } };
    const { model, told } = scriptedModel([[free], [refundCall]]);
    const options = { model, tools: run.tools, messages: [user], stopWhen: isStepCount(3) };
    const why = /c1 did not run: .*also that of a call of lookup.*must be unique within a run/;
    await expect(generateText({ ...options, toolApproval: run.toolApproval })).rejects.toThrow(why);
    await generateText(options);
    expect(told()['c1']).toMatch(why);
    expect(() => countersign.callOf('c1')).toThrow();
    expect(ran).toEqual([]);
  });
});

describe('a decision in the moment of the cancellation', () => {
  it('stands, and the model is told', async () => {
    const fake = createFakeCountersign();
    const fetch: typeof fake.fetch = async (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      if (url.pathname.endsWith('/cancel')) fake.deny('c1', { reason: 'too much' });
      return fake.fetch(input, init);
    };
    const { run, generate, begin, script } = conversation([refundCall], { ...fake, fetch });
    const messages: ModelMessage[] = [...(await begin()), { role: 'user', content: 'well?' }];
    await generate((await run.resume(messages)).messages);
    expect(script.told()['c1']).toMatch(/was denied by me and did not run: too much/);
    expect(ran).toEqual([]);
  });
});

describe('a call that the framework refuses', () => {
  it.each([
    ['arguments that do not match the schema', { ...refundCall, arguments: { amount: 'all' } }],
    ['an unknown tool', { ...refundCall, toolName: 'refnud' }],
  ])('because of %s asks no person, and the model is told', async (_, call) => {
    const { countersign, script, generate } = conversation([call]);
    await generate([user]);
    expect(script.told()['c1']).toMatch(/Invalid input|unavailable tool/);
    expect(() => countersign.callOf('c1')).toThrow();
    expect(ran).toEqual([]);
  });
});
