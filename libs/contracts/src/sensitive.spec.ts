import fc from 'fast-check';
import type { JsonObject } from './json.js';
import { maskAt, maskByName, sensitivePointers, unmask } from './sensitive.js';
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
  ])('knows %s', (name) => {
    expect(looksSecret(name)).toBe(true);
  });

  it.each([
    'path',
    'maxTokens',
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
  it('finds what a schema marks, wherever it is', () => {
    const schema: JsonObject = {
      type: 'object',
      properties: {
        iban: { type: 'string', sensitive: true },
        people: { type: 'array', items: { $ref: '#/$defs/person' } },
        choice: { anyOf: [{ type: 'object', properties: { pin: { format: 'password' } } }] },
      },
      additionalProperties: { 'x-sensitive': true },
      $defs: { person: { type: 'object', properties: { name: {}, ssn: { sensitive: true } } } },
    };
    const value = { iban: 'DE1', people: [{ name: 'a', ssn: '1' }], choice: { pin: '2' }, extra: 'x' };
    expect(sensitivePointers(value, schema)).toEqual(['/iban', '/people/0/ssn', '/choice/pin', '/extra']);
  });

  it('finds what is named like a secret, with pointers escaped, and passes over null', () => {
    const value = { 'a/b': { 'my~token': 'x' }, password: null, list: [{ apiKey: 'k' }] };
    expect(sensitivePointers(value)).toEqual(['/a~1b/my~0token', '/list/0/apiKey']);
  });

  it('ends on schemas that refer to themselves or to nothing', () => {
    const schema: JsonObject = {
      $ref: '#/$defs/node',
      $defs: { node: { properties: { next: { $ref: '#/$defs/node' } } } },
    };
    expect(sensitivePointers({ next: { next: { secret: 'x' } } }, schema)).toEqual(['/next/next/secret']);
    expect(sensitivePointers({ a: 1 }, { $ref: '#/$defs/none' })).toEqual([]);
    expect(sensitivePointers({ a: 1 }, { $ref: 'https://elsewhere.example/schema' })).toEqual([]);
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

  it('sent back in an edit stand for the original, whatever else was edited', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (secret, other) => {
        const original = { auth: { password: secret }, other: 1 } as JsonObject;
        const seen = maskAt(original, sensitivePointers(original), salt);
        const edited = { ...seen, other } as JsonObject;
        const result = unmask(edited, original, salt);
        expect(result.foreign).toEqual([]);
        expect(result.arguments).toEqual({ auth: { password: secret }, other });
      }),
    );
  });

  it('that stand for nothing at their place are named', () => {
    const mask = maskOf('hunter2', salt);
    const result = unmask({ moved: mask, password: mask }, { password: 'hunter2' }, salt);
    expect(result.arguments).toEqual({ moved: mask, password: 'hunter2' });
    expect(result.foreign).toEqual(['/moved']);
  });
});
