import { externalIdSchema, toolCallIdSchema } from './primitives.js';
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

describe('the id of a tool call', () => {
  it.each([
    'call_A1b2C3d4E5f6G7h8I9j0K1l2|fc_0a1b2c3d4e5f6a7b0a1b2c3d4e5f6a7b0a1b2c3d4e5f6a7b',
    'functions.get_weather:0',
    '0',
    '呼び出し-1',
    `call_9f8e__thought__${'Q29u'.repeat(225)}`,
    'x'.repeat(2048),
  ])('is whatever a model or a gateway gives it: %#', (id) => {
    expect(toolCallIdSchema.safeParse(id).success).toBe(true);
  });

  it.each(['', 'x'.repeat(2049), 'a\u0000b'])('is refused by its call alone: %#', (toolCallId) => {
    const calls = ['c', toolCallId].map((id) => ({ toolCallId: id, toolName: 't', arguments: {} }));
    const { error } = requestToolCallsSchema.safeParse({ runId: 'r', calls });
    expect(error?.issues.map(({ path }) => path.join('.'))).toEqual(['calls.1.toolCallId']);
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
