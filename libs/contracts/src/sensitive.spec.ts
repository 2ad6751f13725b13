import fc from 'fast-check';
import type { JsonObject } from './json.js';
import { hiddenValues, maskAt, maskByName, sensitivePointers, unmask } from './sensitive.js';
import { isMask, maskOf } from './sensitive-mask.js';
import { looksSecret } from './sensitive-names.js';

const salt = '00'.repeat(16);

describe('looksSecret', () => {
  it.each([
    'password',
    'dbPassword',
    'API_KEY',
    'x-api-key',
    'apiKey',
    'Authorization',
    'client_secret',
    'accessToken',
    'privateKey',
    'cookie',
    'secretKey',
    `${'x'.repeat(300)}-password`,
  ])('knows %s', (name) => {
    expect(looksSecret(name)).toBe(true);
  });

  it.each([
    'path',
    'maxTokens',
    `password${'x'.repeat(300)}`,
    'token_count',
    'secretary',
    'key',
    'keyboard',
    'passwordless',
    'author',
    'primary_key',
    '',
  ])('leaves %s alone', (name) => {
    expect(looksSecret(name)).toBe(false);
  });

  it('keeps answering the same when flooded with names', () => {
    for (let index = 0; index < 10_000; index += 1) looksSecret(`name${String(index)}`);
    expect(looksSecret('password')).toBe(true);
  });
});

describe('sensitivePointers', () => {
  it('finds what is marked, and asks about nothing below it', () => {
    const asked: (string | number)[] = [];
    const marked = {
      whole: '',
      member: (place: string, key: string | number) => {
        asked.push(key);
        return place + String(key);
      },
      isMarked: (place: string) => place === 'a1',
    };
    expect(sensitivePointers({ a: [{ b: 1 }, { c: 1 }], d: 1 }, marked)).toEqual(['/a/1']);
    expect(asked).toEqual(['a', 0, 'b', 1, 'd']);
  });

  it('finds what is named like a secret, with pointers escaped, and passes over null', () => {
    const value = { 'a/b': { 'my~token': 'x' }, password: null, list: [{ apiKey: 'k' }] };
    expect(sensitivePointers(value)).toEqual(['/a~1b/my~0token', '/list/0/apiKey']);
  });
});

describe('masks', () => {
  it('hide the value, tell equal values apart from others, and depend on the salt', () => {
    const mask = maskOf('hunter2', salt);
    expect(mask).toMatch(/^\[masked sha256:[0-9a-f]{16}\]$/);
    expect(isMask(mask)).toBe(true);
    expect(maskOf('hunter2', salt)).toBe(mask);
    expect(maskOf('hunter3', salt)).not.toBe(mask);
    expect(maskOf('hunter2', '11'.repeat(16))).not.toBe(mask);
    expect(maskOf('hunter2', null)).toBe('[masked]');
  });

  it('leave a value without secrets as it is, without a copy', () => {
    const value = { path: '/etc/hosts' };
    expect(maskAt(value, [], salt)).toBe(value);
    expect(maskByName({ token: 'x', deep: [{ secret: 1 }] })).toEqual({
      token: '[masked]',
      deep: [{ secret: '[masked]' }],
    });
  });

  it('sent back in an edit stand for the original, also next to other changes', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (secret, other) => {
        const original = { auth: { password: secret }, other: 1 } as JsonObject;
        const seen = maskAt(original, sensitivePointers(original), salt);
        const edited = { ...seen, other } as JsonObject;
        const result = unmask(edited, original, { salt });
        expect(result.foreign).toEqual([]);
        expect(result.arguments).toEqual({ auth: { password: secret }, other });
      }),
    );
  });

  it('keeps a text of the agent that reads like a mask, as the text it is', () => {
    const literal = '[masked sha256:0123456789abcdef]';
    const original = { note: literal, password: 'hunter2' };
    const seen = maskAt(original, ['/password'], salt);
    expect(seen.note).toBe(literal);
    expect(unmask({ ...seen, more: 1 }, original, { salt })).toEqual({
      arguments: { ...original, more: 1 },
      foreign: [],
      restored: ['/password'],
    });
    expect(unmask({ ...seen, note: seen.password, password: literal }, original, { salt }).foreign).toEqual([
      '/note',
      '/password',
    ]);
  });

  it('that stand for nothing at their place are named', () => {
    const mask = maskOf('hunter2', salt);
    const result = unmask({ moved: mask, password: mask }, { password: 'hunter2' }, { salt });
    expect(result.arguments).toEqual({ moved: mask, password: 'hunter2' });
    expect(result.foreign).toEqual(['/moved']);
    expect(result.restored).toEqual(['/password']);
  });

  it('are named at most a hundred times when they stand for nothing', () => {
    const edited = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`n${index}`, '[masked]']));
    expect(unmask(edited, {}, { salt }).foreign).toHaveLength(100);
  });
});

describe('hiddenValues', () => {
  const value = {
    iban: 'DE1',
    'a/b': [{ token: 'x' }, { name: 'Cookie', value: 'x' }],
    text: '{"pin":1}',
    url: 'https://a:b@c',
    plain: 'https://c',
  };

  it('says of each value whether the schema or its name hides it', () => {
    const pointers = ['/iban', '/a~1b/0/token', '/a~1b/1/value'];
    expect(hiddenValues(value, pointers)).toEqual([
      { pointer: '/iban', why: 'schema' },
      { pointer: '/a~1b/0/token', why: 'name' },
      { pointer: '/a~1b/1/value', why: 'name' },
      { pointer: '/text', why: 'name' },
      { pointer: '/url', why: 'name' },
    ]);
  });

  it('has exactly the pointers at which the masked value differs', () => {
    const pointers = ['/iban', '/a~1b', '/none'];
    const shown = maskAt(value, pointers, null);
    expect(hiddenValues(value, pointers).map(({ pointer }) => pointer)).toEqual(['/iban', '/a~1b', '/text', '/url']);
    expect(shown).toEqual({
      iban: '[masked]',
      'a/b': '[masked]',
      text: '{"pin":"[masked]"}',
      url: 'https://a:[masked]@c',
      plain: 'https://c',
    });
  });
});

describe('a long name over many members', () => {
  // 128 kB of a name over 16,000 members: written out, their pointers would be two gigabytes.
  const long = 'k'.repeat(128 * 1024);
  const wide = Object.fromEntries(Array.from({ length: 16_000 }, (_, index) => [`n${index}`, 'v']));
  const value = { [long]: wide, iban: 'x' } as JsonObject;

  it('is masked and restored without writing the pointers of all of them', () => {
    const seen = maskAt(value, ['/iban'], salt);
    expect(seen['iban']).toBe(maskOf('x', salt));
    expect(unmask(seen, value, { salt }).arguments).toEqual(value);
    expect(hiddenValues(value, ['/iban'])).toEqual([{ pointer: '/iban', why: 'schema' }]);
  });
});
