import { describe, expect, it } from '@jest/globals';
import { createKeyReader } from './keys.js';

const keysOf = (...pieces: readonly string[]) => {
  const read = createKeyReader();
  return pieces.flatMap((piece) => read(piece)).map((key) => ('text' in key ? `${key.name}:${key.text}` : key.name));
};

describe('the keyboard', () => {
  it.each([
    ['\u001b[A', 'up'],
    ['\u001bOB', 'down'],
    ['\u001b[1;5C', 'right'],
    ['\u001b[5~', 'pageup'],
    ['\u001b[6~', 'pagedown'],
    ['\u001b[Z', 'backtab'],
    ['\u001b[H', 'home'],
    ['\u001b[4~', 'end'],
    ['\r', 'enter'],
    ['\t', 'tab'],
    ['\u007f', 'backspace'],
    ['\u0003', 'interrupt'],
    ['\u001b', 'escape'],
    ['\u001bx', 'unknown'],
    ['\u001b[20~', 'unknown'],
    ['\u0001', 'unknown'],
    ['a', 'character:a'],
    ['é', 'character:é'],
    ['👍', 'character:👍'],
  ])('%j is %s', (text, key) => {
    expect(keysOf(text)).toEqual([key]);
  });

  it('reads keys that came together', () => {
    expect(keysOf('\u001b[A\u001b[A\u001b[B')).toEqual(['up', 'up', 'down']);
  });

  it('takes a bracketed paste as one, cut anywhere, with the line ends in it', () => {
    expect(keysOf('\u001b[200~approve\ra', '\r\u001b[201~d')).toEqual(['paste:approve\ra\r', 'character:d']);
  });

  it('takes several characters at once for a paste: "a" and a line end in a pasted text approve nothing', () => {
    expect(keysOf('a\r')).toEqual(['paste:a\r']);
  });
});
