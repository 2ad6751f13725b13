import fc from 'fast-check';
import { maskAt, maskByName, sensitivePointers, unmask } from './sensitive.js';
import type { JsonObject, JsonValue } from './json.js';
import { isMask, maskOf } from './sensitive-mask.js';
import { isShownText, maskText } from './sensitive-text.js';

const salt = '00'.repeat(16);
const masked = (value: JsonValue): string => JSON.stringify(maskOf(value, salt));

describe('a string that is a JSON text', () => {
  it.each([
    ['an object', '{"user":"a","password":"hunter2"}', `{"user":"a","password":${masked('hunter2')}}`],
    ['a list', '[1,{"apiKey":"k"}]', `[1,{"apiKey":${masked('k')}}]`],
    ['a value that is no string', '{"token":{"id": 7}}', `{"token":${masked('{"id": 7}')}}`],
    ['a number without a canonical form', '{"pwd":1e999}', `{"pwd":${masked('1e999')}}`],
    ['a name that is there twice', '{"pwd":"a","pwd":"b"}', `{"pwd":${masked('a')},"pwd":${masked('b')}}`],
    ['a name that is written with an escape', '{"pass\\u0077ord":"x"}', `{"pass\\u0077ord":${masked('x')}}`],
    ['quotes and brackets in strings', '{"a":"}\\"]{","pwd":"x"}', `{"a":"}\\"]{","pwd":${masked('x')}}`],
  ])('is masked by the names in it: %s', (_what, text, expected) => {
    expect(maskText(text, salt)).toBe(expected);
    expect(maskAt({ body: text }, [], salt)).toEqual({ body: expected });
  });

  it('keeps everything else to the byte: blanks, order, digits, names that are there twice', () => {
    const text = ' {\n "to": "a", "to": "b",\t"n": 12345678901234567890, "secret" : "s" , "none": null, "token": null}';
    expect(maskText(text, salt)).toBe(text.replace('"s"', masked('s')));
  });

  it('is masked where it stands in another one, and in what a tool answers', () => {
    const inner = JSON.stringify({ auth: { client_secret: 's', id: 1 } });
    const text = JSON.stringify({ note: 'x', body: inner });
    const shown = maskText(text, salt);
    expect(shown).not.toContain('"s');
    expect(JSON.parse((JSON.parse(shown) as { body: string }).body)).toEqual({
      auth: { client_secret: maskOf('s', salt), id: 1 },
    });
    expect(maskByName([{ type: 'text', text: '{"access_token":"s"}' }])).toEqual([
      { type: 'text', text: '{"access_token":"[masked]"}' },
    ]);
  });

  it.each(['', 'password', '{', '{password: 1}', '"password"', '[]', '{"path":"/x"}', '{"token":"x"', '[[["a"]]]'])(
    'is left alone where nothing in it looks secret, or it is none: %s',
    (text) => {
      expect(maskText(text, salt)).toBe(text);
    },
  );

  it('shows of any value what masking the value itself would show', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(4), (value, indent) => {
        const node = { wrapped: value, password: 'p', list: [{ 'x-api-key': value }] } as JsonObject;
        const shown: unknown = JSON.parse(maskText(JSON.stringify(node, null, indent), null));
        expect(shown).toEqual(JSON.parse(JSON.stringify(maskByName(node))));
      }),
    );
  });
});

describe('an edit of a string with masks in it', () => {
  const secrets = { user: 'a', password: 'hunter2', deep: [{ token: { id: 1 } }] };
  const original = {
    body: JSON.stringify(secrets, null, 2),
    path: '/x',
    outer: '{"body":"{\\"pwd\\":\\"s\\"}","n":1}',
  };
  const seen = maskAt(original, sensitivePointers(original), salt);

  it('restores what was left as it was, to the byte', () => {
    expect(seen).not.toEqual(original);
    expect(unmask({ ...seen, path: '/y' }, original, { salt })).toEqual({
      arguments: { ...original, path: '/y' },
      foreign: [],
      restored: [],
    });
  });

  it('restores each mask at its place, also when the text around it changed', () => {
    const body = seen.body.replace('"a"', '"b"').replaceAll(/\n */g, '');
    const outer = seen.outer.replace('"n":1', '"n":2');
    const result = unmask({ ...seen, body, outer }, original, { salt });
    expect(result.foreign).toEqual([]);
    expect(JSON.parse(result.arguments['body'] as string)).toEqual({ ...secrets, user: 'b' });
    expect(result.arguments['outer']).toBe('{"body":"{\\"pwd\\":\\"s\\"}","n":2}');
  });

  it('takes a new value in the place of a mask', () => {
    const body = seen.body.replace(masked('hunter2'), '"new"');
    const result = unmask({ ...seen, body }, original, { salt });
    expect([result.foreign, JSON.parse(result.arguments['body'] as string)]).toEqual([
      [],
      { ...secrets, password: 'new' },
    ]);
  });

  const mask = maskOf('hunter2', salt);
  it.each([
    ['is moved to another name', `{"note":"${mask}"}`],
    ['is made up', '{"password":"[masked sha256:0000000000000000]"}'],
    ['is made up, and carries no hash', '{"password":"[masked]"}'],
    ['stands in a text that is no JSON any more', `{"password":"${mask}",`],
    ['stands inside a longer string', `{"password":"Bearer ${mask}"}`],
    ['is a name', `{"${mask}":1}`],
    ['is written with escapes', `{"note":"\\u005b${mask.slice(1)}"}`],
    ['stands in a text inside the text', JSON.stringify({ user: JSON.stringify({ password: mask }) })],
  ])('is refused when a mask %s: none is ever taken for a value', (_what, body) => {
    expect(unmask({ ...seen, body }, original, { salt }).foreign).toEqual(['/body']);
  });

  it('that puts such a text where none was is refused with its mask, and taken without', () => {
    expect(unmask({ ...seen, more: seen.body }, original, { salt }).foreign).toEqual(['/more']);
    expect(unmask({ ...seen, path: seen.body }, original, { salt }).foreign).toEqual(['/path']);
    expect(unmask({ ...seen, more: '{"password":"p"}' }, original, { salt }).foreign).toEqual([]);
  });

  it('leaves a text alone that had something like a mask in it before', () => {
    const quoted = { note: 'it said [masked sha256:0123456789abcdef]', body: '{"note":"[masked]","pwd":"x"}' };
    const shown = maskAt(quoted, sensitivePointers(quoted), salt);
    const edited = { ...shown, body: shown.body.replace('{', '{"n":1,') };
    expect(unmask({ ...edited, note: `${quoted.note}!` }, quoted, { salt })).toEqual({
      arguments: { note: `${quoted.note}!`, body: '{"n":1,"note":"[masked]","pwd":"x"}' },
      foreign: [],
      restored: [],
    });
  });

  it('records no mask after any edit', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (secret, other) => {
        const before = { body: JSON.stringify({ password: secret, other: 1 }) };
        const view = maskAt(before, [], salt);
        const shown = JSON.parse(view.body) as JsonObject;
        const { arguments: args, foreign } = unmask({ body: JSON.stringify({ ...shown, other }) }, before, { salt });
        expect(foreign).toEqual([]);
        const restored = JSON.parse(args['body'] as string) as JsonObject;
        expect(isMask(restored['password'])).toBe(false);
        expect(restored).toEqual(JSON.parse(JSON.stringify({ password: secret, other })));
      }),
    );
  });
});

it('a text is known again by what a reader sees of it', () => {
  const text = '{"to":"a","password":"hunter2"}';
  expect([text, maskText(text, salt), maskText(text, null)].map((shown) => isShownText(text, shown))).toEqual([
    true,
    true,
    true,
  ]);
  expect(isShownText('{"to":"b","password":"hunter2"}', maskText(text, salt))).toBe(false);
  expect(isShownText('{"password":"hunter2"}', '{"password":"[masked]","to":"x"}')).toBe(false);
});

it.each([
  ['lists', (levels: number, inner: string) => '['.repeat(levels) + inner + ']'.repeat(levels)],
  ['objects', (levels: number, inner: string) => '{"a":'.repeat(levels) + inner + '}'.repeat(levels)],
])('a text of 40,000 levels of %s is masked, and edited', (_what, nest) => {
  const text = nest(40_000, '{"to":"a","password":"hunter2"}');
  const shown = maskText(text, salt);
  expect(shown).toBe(nest(40_000, `{"to":"a","password":${masked('hunter2')}}`));
  const { arguments: args, foreign } = unmask(
    { body: shown.replace('"to":"a"', '"to":"b"') },
    { body: text },
    { salt },
  );
  expect(foreign).toEqual([]);
  expect(args['body']).toBe(nest(40_000, '{"to":"b","password":"hunter2"}'));
});
