import { externalIdSchema } from './primitives.js';
import { requestToolCallsSchema } from './requests.js';

describe('an id from outside', () => {
  const problems = (id: string): readonly string[] =>
    (externalIdSchema.safeParse(id).error?.issues ?? []).map(({ message }) => message);

  it.each([
    ['r-1', []],
    ['größer 😀', []],
    ['x'.repeat(256), []],
    ['', ['Too small: expected string to have >=1 characters']],
    ['x'.repeat(257), ['Too big: expected string to have <=256 characters']],
    ['a\u0007b', ['must not contain control characters']],
    ['a\u2028b', ['must not contain control characters']],
  ])('%j', (id, expected) => {
    expect(problems(id)).toEqual(expected);
  });
});

describe('the id of a run that is about to be recorded', () => {
  const calls = [{ toolCallId: 'c', toolName: 't', arguments: {} }];

  // Attack: `POST /v1/runs/../cancel` is sent as `/v1/cancel` by every client, so no person could cancel the run.
  it.each([
    ['.', false],
    ['..', false],
    ['...', true],
    ['a/..', true],
    ['%2e%2e', true],
  ])('%j: %s', (runId, isTaken) => {
    expect(requestToolCallsSchema.safeParse({ runId, calls }).success).toBe(isTaken);
  });
});
