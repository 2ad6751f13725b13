import { describe, expect, it } from '@jest/globals';
import { textBlocksOf } from './text-blocks.js';

describe('the long texts of a JSON value', () => {
  it('are the contents of files, where one is named next to them', () => {
    const { blocks, sizes } = textBlocksOf({ path: 'a.sh', content: 'one\r\ntwo', mode: 'x' });
    expect(blocks).toEqual([
      {
        pointer: '/content',
        subject: { kind: 'file', file: 'a.sh' },
        lineEnds: ['CRLF line ends', 'no line end at the end'],
        lines: [
          { kind: '+', text: 'one' },
          { kind: '+', text: 'two' },
        ],
      },
    ]);
    expect([...sizes]).toEqual([['/content', '2 lines, 8 characters']]);
  });

  it('are replacements, as one diff with all that is kept', () => {
    const kept = ['1', '2', '3', '4', '5'];
    const [block] = textBlocksOf({
      old_str: ['a', ...kept, 'b'].join('\n'),
      new_str: ['a', ...kept, 'c'].join('\n'),
    }).blocks;
    expect(block?.lines.map(({ kind, text }) => kind + text)).toEqual([
      ' a',
      ...kept.map((one) => ` ${one}`),
      '-b',
      '+c',
    ]);
  });

  it('are replacements by an equal text', () => {
    const { blocks, sizes } = textBlocksOf({ edits: [{ old_str: 'a\nb\n', new_str: 'a\nb\n' }] });
    expect(blocks).toEqual([
      {
        pointer: '/edits/0',
        subject: { kind: 'replacement', oldName: 'old_str', newName: 'new_str' },
        lineEnds: [],
        lines: [
          { kind: ' ', text: 'a' },
          { kind: ' ', text: 'b' },
          { kind: ' ', text: '' },
        ],
      },
    ]);
    expect([...sizes.keys()]).toEqual(['/edits/0/old_str', '/edits/0/new_str']);
  });

  it('are patches, whose headings add and remove nothing', () => {
    const [block] = textBlocksOf(['--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n-one\n+two\n same\n']).blocks;
    expect(block?.subject).toEqual({ kind: 'patch' });
    expect(block?.lines.map(({ kind, text }) => kind + text)).toEqual([
      '@--- a/x',
      '@+++ b/x',
      '@@@ -1,2 +1,2 @@',
      '-one',
      '+two',
      ' same',
    ]);
  });

  it('are patches, in which a line of a hunk has its sign, whatever it looks like', () => {
    const lines = ['@@ -1,3 +1,3 @@', '--- a', ' --- b', '+++ c', '', '\\ No newline at end of file', '--- d', '-e'];
    const [block] = textBlocksOf([lines.join('\n')]).blocks;
    expect(block?.lines.map(({ kind, text }) => kind + text)).toEqual([
      '@@@ -1,3 +1,3 @@',
      '--- a',
      ' --- b',
      '+++ c',
      '@',
      '@\\ No newline at end of file',
      '@--- d',
      '@-e',
    ]);
  });

  it('are any others, by pointers that no name can imitate', () => {
    const { blocks } = textBlocksOf({ 'a/b': 'one\ntwo\n', a: { b: 'short', 'c~': 'three\nfour\n' } });
    expect(blocks.map(({ pointer, subject }) => [pointer, subject.kind])).toEqual([
      ['/a~1b', 'text'],
      ['/a/c~0', 'text'],
    ]);
  });

  it('are none of one line', () => {
    expect(textBlocksOf({ text: 'one\n', list: [1, null, true, 'two'] })).toEqual({ blocks: [], sizes: new Map() });
  });
});
