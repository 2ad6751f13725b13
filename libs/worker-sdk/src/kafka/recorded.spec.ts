import { maskByName, type JsonObject, type RequestToolCalls, type ToolCallView } from '@countersign/contracts';
import { recordedCalls } from './recorded.js';

const asked = (args: JsonObject): RequestToolCalls => ({
  runId: 'r',
  calls: [{ toolCallId: 'a', toolName: 't', arguments: args }],
});
const shown = (args: JsonObject): ToolCallView =>
  ({
    toolCallId: 'a',
    toolName: 't',
    agentId: 'g',
    arguments: args,
    verdict: { outcome: 'block' },
    approval: null,
  }) as unknown as ToolCallView;
const args = { path: '/x', password: 'p', body: '{"token":"t","to":"a"}', list: [1, { n: null }] };

it('a call is known again by what readers see of it, masked or not', () => {
  for (const seen of [args, maskByName(args)]) expect(recordedCalls(asked(args), [shown(seen)])).toHaveLength(1);
});

it.each([
  ['another value', { ...args, path: '/y' }],
  ['another text around a mask', { ...args, body: '{"token":"t","to":"b"}' }],
  ['a member more', { ...args, more: 1 }],
  ['a member less', { path: '/x' }],
  ['a list in the place of an object', { ...args, list: { 0: 1, 1: { n: null } } }],
])('a call with %s is another one', (_what, other) => {
  expect(recordedCalls(asked(args), [shown(maskByName(other as JsonObject))])).toBeUndefined();
});

it('a call that may still run is not the one that the code of the agent denies', () => {
  const denied = { ...asked(args), calls: asked(args).calls.map((call) => ({ ...call, deny: 'not this one' })) };
  const inState = (state: string) => ({ ...shown(args), state }) as ToolCallView;
  for (const state of ['allowed', 'awaiting_approval', 'approved']) {
    expect(recordedCalls(denied, [inState(state)])).toBeUndefined();
  }
  for (const state of ['blocked', 'cancelled', 'succeeded']) {
    expect(recordedCalls(denied, [inState(state)])).toHaveLength(1);
  }
});

it('a call that was allowed is not the one for which an approval was asked', () => {
  const [call] = asked(args).calls;
  const wanted = { ...asked(args), calls: call === undefined ? [] : [{ ...call, needsApproval: true }] };
  const allowed = { ...shown(args), verdict: { outcome: 'allow' } } as ToolCallView;
  expect(recordedCalls(wanted, [allowed])).toBeUndefined();
  expect(recordedCalls(asked(args), [allowed])).toHaveLength(1);
  const pending = { ...allowed, verdict: { outcome: 'require' }, approval: {} } as ToolCallView;
  expect(recordedCalls(wanted, [pending])).toHaveLength(1);
});
