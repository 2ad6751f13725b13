import fc from 'fast-check';
import { eventSchemas } from './events.js';
import type { LedgerEvent } from './events.js';
import type { JsonObject, JsonValue } from './json.js';
import {
  isRecordedInClear,
  markSecrets,
  maskSealed,
  mayHaveSecrets,
  putSecrets,
  secretPointers,
  takeSecrets,
  valuePointers,
} from './sealed-values.js';

const requested = (args: JsonObject, sensitive: readonly string[] = []): Pick<LedgerEvent, 'type' | 'data'> =>
  ({ type: 'ToolCallRequested', data: { arguments: args, sensitive, salt: 'aa' } }) as never;
const reported = (output: JsonValue): Pick<LedgerEvent, 'type' | 'data'> =>
  ({ type: 'ExecutionSucceeded', data: { output } }) as never;

describe('the secret values of an event', () => {
  it.each([
    ['a marked argument, and the salt', requested({ a: { b: 1 } }, ['/a/b']), ['/arguments/a/b', '/salt']],
    ['a text with a secret in it', requested({ url: 'https://u:p4ss@host/' }), ['/arguments/url', '/salt']],
    ['a name with a slash', requested({ 'a/b~': 1 }, ['/a~1b~0']), ['/arguments/a~1b~0', '/salt']],
    ['nothing', requested({ a: 1 }), []],
    ['a mark without a value', requested({ a: 1 }, ['/b']), []],
    ['an output by its names', reported({ token: 't', n: 1 }), ['/output/token']],
    ['an output that is a text', reported('{"password":"x"}'), ['/output']],
  ])('are found: %s', (_what, event, pointers) => {
    expect(secretPointers(event)).toEqual(pointers);
  });

  it('are those of errors, edits and answers too', () => {
    const of = (decision: object) => secretPointers({ type: 'ApprovalResponded', data: { decision } } as never);
    expect(of({ type: 'edit', arguments: { pin: 1 }, sensitive: ['/pin'], salt: 'a' })).toEqual([
      '/decision/arguments/pin',
      '/decision/salt',
    ]);
    expect(of({ type: 'answer', output: { pin: 1 } })).toEqual(['/decision/output/pin']);
    expect(of({ type: 'answer', output: { pin: 1 }, salt: 'a' })).toEqual(['/decision/output/pin', '/decision/salt']);
    expect(of({ type: 'deny' })).toEqual([]);
    expect(secretPointers({ type: 'ExecutionFailed', data: { error: { token: 1 } } } as never)).toEqual([
      '/error/token',
    ]);
  });

  it('are taken out and put back to the same data, for any JSON and any pointers', () => {
    const key = fc.constantFrom('a', 'b', '0', '1', '__proto__', 'constructor', 'a/b', '~', '');
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom<JsonValue[]>(null, 1, 'x', '[erased]', '[key missing]', '[sealed]'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.array(fc.tuple(key, tie('value')), { maxLength: 4 }).map((members) => Object.fromEntries(members)),
      ),
    }));
    const escaped = key.map((part) => part.replaceAll('~', '~0').replaceAll('/', '~1'));
    const pointer = fc.array(escaped, { maxLength: 4 }).map((parts) => parts.map((part) => `/${part}`).join(''));
    fc.assert(
      fc.property(value, fc.array(pointer, { maxLength: 6 }), (content, pointers) => {
        const data = { content };
        const wanted = pointers.map((each) => `/content${each}`);
        const taken = takeSecrets(data, wanted);
        expect(taken.pointers).toHaveLength(taken.values.length);
        expect(JSON.stringify(putSecrets(taken.data, taken))).toBe(JSON.stringify(data));
      }),
    );
  });

  it('leave nothing of themselves behind', () => {
    const data = { arguments: { password: 'hunter2', list: [{ token: 'hunter2' }], n: 1 }, salt: 'hunter2' };
    const taken = takeSecrets(data, ['/arguments/password', '/arguments/list/0/token', '/salt', '/nothing/there']);
    expect(JSON.stringify(taken.data)).not.toContain('hunter2');
    expect(taken.values).toEqual(['hunter2', 'hunter2', 'hunter2']);
    expect(markSecrets(taken.data, taken.pointers, 'erased')).toEqual({
      arguments: { password: '[erased]', list: [{ token: '[erased]' }], n: 1 },
      salt: null,
    });
    expect(valuePointers(taken.pointers)).toEqual(['/arguments/password', '/arguments/list/0/token']);
  });

  it('are taken out of a list of thousands in one walk', () => {
    const list = Array.from({ length: 20_000 }, (_, index) => ({ token: index }));
    const pointers = list.map((_, index) => `/list/${String(index)}/token`);
    const before = process.cpuUsage().user;
    expect(takeSecrets({ list }, pointers).values).toHaveLength(20_000);
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(5000);
  });
});

it('only events of some types can have hidden values', () => {
  const secret = { password: 'x' };
  const data = {
    ...{ arguments: secret, sensitive: ['/password'], salt: 'a', toolSchema: null, output: secret, error: secret },
    ...{ decision: { type: 'answer', output: secret }, match: { digest: 'd', salt: 's' } },
  };
  for (const type of Object.keys(eventSchemas)) {
    const pointers = secretPointers({ type, data } as never);
    expect({ type, has: pointers.length > 0 }).toEqual({ type, has: mayHaveSecrets(type) });
  }
});

describe('an event is recorded in clear', () => {
  const stored = (data: object, sealed?: readonly string[]) =>
    ({ ...data, metadata: sealed === undefined ? {} : { sealed: { key: 'k', pointers: sealed, box: 'b' } } }) as never;
  const secret = requested({ password: '[sealed]', a: 1 }, ['/password']);
  const telling = {
    ...secret,
    data: { ...secret.data, arguments: {}, toolSchema: { properties: { pin: { writeOnly: true, default: '1234' } } } },
  };
  it.each([
    ['with a hidden value that is not sealed', stored(secret), true],
    ['with a sealed value, and a salt that is not', stored(secret, ['/arguments/password']), true],
    ['with a default of its schema that views hide', stored(telling), true],
  ])('%s', (_what, event, isClear) => {
    expect(isRecordedInClear(event)).toBe(isClear);
  });

  it('unless every hidden value is sealed, itself or as a part of another', () => {
    const whole = { ...secret, data: { ...secret.data, toolSchema: null } };
    expect(isRecordedInClear(stored(whole, ['/arguments', '/salt']))).toBe(false);
    expect(isRecordedInClear(stored({ type: 'ToolCallCancelled', data: {} }))).toBe(false);
  });
});

it('a sealed event is shown without keys by masks without a hash', () => {
  const metadata = { sealed: { key: 'k', pointers: ['/arguments/pin', '/salt'], box: 'b' } };
  const event = {
    type: 'ToolCallRequested',
    data: { arguments: { pin: '[sealed]', a: 1 }, salt: '[sealed]' },
    metadata,
  };
  expect(maskSealed(event as never).data).toEqual({ arguments: { pin: '[masked]', a: 1 }, salt: null });
});
