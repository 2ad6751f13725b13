import { codePointsOf } from '../text/printable.js';

/** A key press. Pasted text is one input, so a pasted line end presses nothing. */
export type Key =
  | { readonly name: KeyName }
  | { readonly name: 'character'; readonly text: string }
  | { readonly name: 'paste'; readonly text: string };

export type KeyName =
  | 'up'
  | 'down'
  | 'left'
  | 'right'
  | 'home'
  | 'end'
  | 'pageup'
  | 'pagedown'
  | 'enter'
  | 'escape'
  | 'tab'
  | 'backtab'
  | 'backspace'
  | 'erase-line'
  | 'erase-word'
  | 'redraw'
  | 'interrupt'
  | 'unknown';

const controls: Readonly<Record<string, KeyName>> = {
  '\r': 'enter',
  '\n': 'enter',
  '\t': 'tab',
  '\u007f': 'backspace',
  '\b': 'backspace',
  '\u0003': 'interrupt',
  '\u0004': 'interrupt',
  '\u0015': 'erase-line',
  '\u0017': 'erase-word',
  '\u000c': 'redraw',
};

const sequences: Readonly<Record<string, KeyName>> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'backtab',
  '1~': 'home',
  '4~': 'end',
  '5~': 'pageup',
  '6~': 'pagedown',
  '7~': 'home',
  '8~': 'end',
};

const pasteStart = '\u001b[200~';
const pasteEnd = '\u001b[201~';
const escape = '\u001b';
/** The rest of an escape sequence: `[A`, `[5~`, `OH`. */
const sequenceAfterEscape = /^[[O]([0-9;]*[A-Za-z~])/;

/**
 * Reads keys from terminal bytes, which arrive in chunks.
 *
 * Attack: text that contains "a" and a line end is pasted into the list, and would approve. Bracketed paste is used
 * where the terminal supports it. Otherwise a chunk of several characters counts as a paste, since a person types one
 * key at a time.
 */
export function createKeyReader(): (piece: string) => Key[] {
  let pasting: string | undefined;
  const read = (piece: string): Key[] => {
    if (pasting !== undefined) {
      const end = (pasting + piece).indexOf(pasteEnd);
      const all = pasting + piece;
      pasting = end === -1 ? all : undefined;
      return end === -1 ? [] : [{ name: 'paste', text: all.slice(0, end) }, ...read(all.slice(end + pasteEnd.length))];
    }
    const start = piece.indexOf(pasteStart);
    if (start === -1) return keysOf(piece);
    pasting = '';
    return [...keysOf(piece.slice(0, start)), ...read(piece.slice(start + pasteStart.length))];
  };
  return read;
}

function keysOf(piece: string): Key[] {
  const isPaste = !piece.startsWith(escape) && codePointsOf(piece).length > 1;
  if (isPaste) return [{ name: 'paste', text: piece }];
  const keys: Key[] = [];
  let rest = piece;
  while (rest !== '') {
    const { key, length } = nextKey(rest);
    keys.push(key);
    rest = rest.slice(length);
  }
  return keys;
}

interface Read {
  readonly key: Key;
  /** How many characters of the text the key used. */
  readonly length: number;
}

function nextKey(text: string): Read {
  if (text.startsWith(escape)) return escapedKey(text);
  const character = String.fromCodePoint(text.codePointAt(0) ?? 0);
  const control = controls[character];
  if (control !== undefined) return { key: { name: control }, length: 1 };
  const key: Key = character < ' ' ? { name: 'unknown' } : { name: 'character', text: character };
  return { key, length: character.length };
}

function escapedKey(text: string): Read {
  const [sequence, code = ''] = sequenceAfterEscape.exec(text.slice(1)) ?? [];
  if (sequence === undefined) return { key: { name: text === escape ? 'escape' : 'unknown' }, length: text.length };
  const name = sequences[code] ?? sequences[code.slice(-1)] ?? 'unknown';
  return { key: { name }, length: sequence.length + 1 };
}
