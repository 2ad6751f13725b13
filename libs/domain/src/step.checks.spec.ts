import { describe, expect, it } from '@jest/globals';
import { decideStep, mayNotSpeakFor, refusedUnread } from './step.decider.js';
import type { CheckedCall } from './step.facts.js';
import type { Stop } from './stop.state.js';
import { allowedCall, call as asked, outcomesOf, recorded, step } from './testing/step-fixtures.js';

const call = (more: Partial<CheckedCall> = {}): CheckedCall => ({
  toolName: 'pay',
  isServiceTool: false,
  clientExecuted: false,
  check: { status: 'valid' },
  ...more,
});
const unfit = (...paths: readonly string[]) =>
  call({ check: { status: 'invalid', errors: paths.map((path) => ({ path, message: 'must be a number' })) } });
const noSchema = call({ check: { status: 'refused', about: 'toolSchema', message: 'is too large' } });

describe('a request that the log is not needed for', () => {
  it('is accepted when the arguments of all its calls fit', () => {
    expect(refusedUnread([call(), call({ clientExecuted: true }), call({ isServiceTool: true })])).toBeUndefined();
  });

  it('is refused with the path of each argument that does not fit', () => {
    expect(refusedUnread([call(), unfit('amount', ''), unfit('to')])).toEqual({
      code: 'invalid-arguments',
      detail: 'the arguments of "pay" do not fit its schema',
      errors: ['calls.1.arguments.amount', 'calls.1.arguments', 'calls.2.arguments.to'].map((path) => ({
        path,
        message: 'must be a number',
      })),
    });
  });

  it('is refused as invalid first when a schema cannot be used', () => {
    expect(refusedUnread([unfit('amount'), noSchema])).toEqual({
      code: 'invalid-request',
      detail: 'calls.1.toolSchema: is too large',
      errors: [{ path: 'calls.1.toolSchema', message: 'is too large' }],
    });
  });

  it('is refused when a client would execute a tool of the service, whatever its arguments are', () => {
    const service = { isServiceTool: true, clientExecuted: true };
    expect(refusedUnread([{ ...unfit('amount'), ...service }, call(service)])).toMatchObject({
      code: 'invalid-request',
      errors: [{ path: 'calls.0.clientExecuted' }, { path: 'calls.1.clientExecuted' }],
    });
  });
});

it('a request for another principal’s agent is refused, with what to do', () => {
  expect(mayNotSpeakFor('sales', { speaksFor: true })).toBeUndefined();
  const refusal = { code: 'forbidden', detail: expect.stringContaining('leave agentId out') };
  expect(mayNotSpeakFor('sales', { speaksFor: false })).toEqual(refusal);
});

describe('a request over which stops hold', () => {
  const stop = (more: Partial<Stop> = {}): Stop => ({
    ...{ stopId: 'stop_1', scope: { tenant: null, agentId: null, toolName: null }, reason: 'it pays twice' },
    ...{ declaredBy: 'ann', declaredAt: '2026-11-29T10:00:00.000Z', lifted: null },
    ...more,
  });
  const lifted = stop({ lifted: { by: 'bob', at: '2026-11-29T11:00:00.000Z', reason: 'mended' } });
  const calls = [allowedCall('a'), asked('b')];

  it('is refused as a whole when one of its calls is stopped, whatever the policy says', () => {
    expect(outcomesOf(step(calls, { stopsOver: [[], [lifted, stop()]] }))).toBe('stopped');
    expect(outcomesOf(step(calls, { stopsOver: [[lifted], []] }))).toEqual(['allow', 'require']);
  });

  it('names the stop, its reason and its remedy', () => {
    const by = (one: Stop) => decideStep(step(calls, { stopsOver: [[one], []] }));
    expect(by(stop())).toMatchObject({
      refusal: {
        detail: expect.stringMatching(/^ann stopped all calls at .*: it pays twice\. Wait until .*countersign resume/),
        extra: { stop: { stopId: 'stop_1', reason: 'it pays twice' } },
      },
    });
    expect(by(stop({ stopId: 'file' }))).toMatchObject({
      refusal: { detail: expect.stringContaining('removes the file STOP') },
    });
  });

  it('is answered as ever when it repeats what is recorded: the claim is held back', () => {
    const first = asked('a');
    const repeat = { ...first, state: recorded(first) };
    expect(outcomesOf(step([repeat], { stopsOver: [[stop()]] }))).toEqual(['nothing']);
    expect(outcomesOf(step([repeat, asked('b')], { stopsOver: [[stop()], [stop()]] }))).toBe('stopped');
  });
});
