import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject } from '@countersign/contracts';
import { argumentLines, changeLines } from './argument-lines.js';

const shown = (args: JsonObject, columns = 80) => argumentLines(args, columns).map(({ text }) => text);
const changed = (before: JsonObject, after: JsonObject) => changeLines(before, after, 80).map(({ text }) => text);

describe('the arguments of a call', () => {
  it('are indented JSON', () => {
    expect(shown({ path: '/etc/hosts', force: true, tags: ['a', 1], none: {} })).toEqual([
      '{',
      '  "path": "/etc/hosts",',
      '  "force": true,',
      '  "tags": [',
      '    "a",',
      '    1',
      '  ],',
      '  "none": {}',
      '}',
    ]);
  });

  it('are wrapped at the edge of the terminal, never cut', () => {
    const lines = shown({ command: 'x'.repeat(200) }, 60);
    expect(lines.join('').replaceAll(/[ ↩]/g, '')).toBe(`{"command":"${'x'.repeat(200)}"}`);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(60);
  });

  it('show the content of a file as added lines', () => {
    expect(shown({ path: '/srv/run.sh', content: '#!/bin/sh\n\trm -rf "$1"\n' })).toEqual([
      '{',
      '  "path": "/srv/run.sh",',
      '  "content": ⟨2 lines, 23 characters, below⟩',
      '}',
      '',
      '/content: what would stand in /srv/run.sh',
      '+ #!/bin/sh',
      '+ ⇥  rm -rf "$1"',
    ]);
  });

  it('show a replacement as a unified diff', () => {
    const lines = shown({ edits: [{ old_string: 'a\nb\nc', new_string: 'a\nB\nc' }] });
    expect(lines.slice(lines.indexOf('') + 1)).toEqual([
      '/edits/0/old_string → new_string',
      '  a',
      '- b',
      '+ B',
      '  c',
    ]);
  });

  it('show a patch in its colours', () => {
    const lines = argumentLines({ patch: '--- a/x\n+++ b/x\n@@ -1 +1 @@\n-one\n+two' }, 80).slice(-6);
    expect(lines).toEqual([
      { text: '/patch (no line end at the end): a patch', tone: 'bold' },
      { text: '│ --- a/x', tone: 'cyan' },
      { text: '│ +++ b/x', tone: 'cyan' },
      { text: '│ @@ -1 +1 @@', tone: 'cyan' },
      { text: '- one', tone: 'red' },
      { text: '+ two', tone: 'green' },
    ]);
  });

  it('show any other text of several lines as lines, and say what lines cannot show', () => {
    expect(shown({ body: 'Dear all,\r\nbye' }).slice(-3)).toEqual([
      '/body (CRLF line ends) (no line end at the end)',
      '│ Dear all,',
      '│ bye',
    ]);
  });

  it('mark where a line goes on, so that its rest is no line of its own', () => {
    const long = 'x'.repeat(77);
    expect(shown({ patch: `@@ -0,0 +1 @@\n+${long}rm -rf /\n` }).slice(-2)).toEqual([`+ ${long}↩`, '↪ rm -rf /']);
    expect(shown({ [`${'k'.repeat(78)}+rm -rf /`]: 'a\nb\n' }).slice(-4)).toEqual([
      `/${'k'.repeat(78)}↩`,
      '↪ +rm -rf ~1',
      '│ a',
      '│ b',
    ]);
  });

  it('are read as themselves alone', () => {
    const long = 'x'.repeat(78);
    const line = fc.constantFrom('--- a', ' --- a', '-a', '+a', ' a', 'a', '', ' ', `+${long}b`, `+${long}`, ' b');
    const patch = fc.array(line, { maxLength: 5 }).map((lines) => ['@@ -1,2 +1,3 @@', ...lines].join('\n'));
    const text = fc.array(line, { maxLength: 4 }).map((lines) => ['a', '1', '2', '3', '4', ...lines].join('\n'));
    const replacement = fc.record({ before: text, after: text });
    const byShown = new Map<string, string>();
    for (const value of fc.sample(fc.oneof(patch, text, replacement), { numRuns: 3000, seed: 7 })) {
      // The lines tell texts apart without their sizes.
      const all = shown({ value })
        .join('\n')
        .replaceAll(/⟨[^⟩]*⟩/g, '⟨⟩');
      expect([all, byShown.get(all) ?? JSON.stringify(value)]).toEqual([all, JSON.stringify(value)]);
      byShown.set(all, JSON.stringify(value));
    }
  });

  it('never hide a value behind another one of the same name (a dotted or slashed key is no path)', () => {
    const lines = shown({ 'a/b': 'one\ntwo', a: { b: 'rm -rf /' }, 'a.b': 'x' }).join('\n');
    expect(lines).toContain('"b": "rm -rf /"');
    expect(lines).toContain('"a.b": "x"');
  });

  it('mark what a terminal would obey, in names and values', () => {
    const lines = shown({ 'pa\u202eth': '\u001b[2J\u009b\u200b', text: 'a\u202e\nb' }).join('\n');
    expect(lines).toContain('"pa⟦U+202E⟧th": "\\u001b[2J⟦U+009B⟧⟦U+200B⟧"');
    expect(lines).toContain('│ a⟦U+202E⟧');
  });

  it('show every text in them, at any depth', () => {
    const word = fc.stringMatching(/^[a-z]{1,8}$/);
    const text = fc.oneof(
      word,
      fc.tuple(word, word).map((words) => words.join('\n')),
    );
    const names = fc.constantFrom('path', 'content', 'old_string', 'new_string', 'before', 'after', 'x/y', 'x', 'y');
    const value = fc.letrec((tie) => ({
      node: fc.oneof(
        { maxDepth: 3 },
        text,
        fc.array(tie('node'), { maxLength: 3 }),
        fc.dictionary(names, tie('node'), { maxKeys: 5 }),
      ),
    })).node;
    fc.assert(
      fc.property(fc.dictionary(names, value, { maxKeys: 5 }), (args) => {
        const all = shown(args as JsonObject).join('\n');
        for (const found of textsIn(args)) for (const line of found.split('\n')) expect(all).toContain(line);
      }),
    );
  });
});

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : [];
}

describe('the change of arguments', () => {
  it('is a unified diff', () => {
    expect(changed({ path: '/etc/hosts', force: true }, { path: '/tmp/hosts', force: true })).toEqual([
      '│ @@ -1 +1 @@',
      '  {',
      '-   "path": "/etc/hosts",',
      '+   "path": "/tmp/hosts",',
      '    "force": true',
      '  }',
    ]);
  });

  it('goes into long texts line by line', () => {
    expect(changed({ content: 'one\ntwo\n' }, { content: 'one\n2\n' })).toEqual([
      '',
      '/content',
      '│ @@ -1 +1 @@',
      '  one',
      '- two',
      '+ 2',
      '  ',
    ]);
  });

  it('is empty when nothing changed', () => {
    expect(changed({ a: ['x\ny'] }, { a: ['x\ny'] })).toEqual([]);
  });

  it('is never empty when something did', () => {
    const args = fc.dictionary(fc.string({ maxLength: 2 }), fc.jsonValue({ maxDepth: 2 }), {
      maxKeys: 3,
    }) as fc.Arbitrary<JsonObject>;
    fc.assert(
      fc.property(args, args, (before, after) => {
        fc.pre(JSON.stringify(before) !== JSON.stringify(after));
        expect(changed(before, after)).not.toEqual([]);
      }),
    );
  });
});
