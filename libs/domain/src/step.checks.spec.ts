import { describe, expect, it } from '@jest/globals';
import { refusedUnread } from './step.decider.js';
import type { CheckedCall } from './step.facts.js';

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
