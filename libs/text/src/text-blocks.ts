import { foldBlankLines } from './blank-runs.js';
import type { JsonValue } from './json-members.js';
import { membersOf } from './json-members.js';
import type { DiffLine } from './line-diff.js';
import { wholeDiff } from './line-diff.js';
import { patchLines } from './patch-lines.js';

/** The subject of a multi-line text. The file name is a foreign text. */
export type BlockSubject =
  | { readonly kind: 'replacement'; readonly oldName: string; readonly newName: string }
  | { readonly kind: 'file'; readonly file: string }
  | { readonly kind: 'patch' }
  | { readonly kind: 'text' };

/** A multi-line text inside a JSON value, shown as lines next to the JSON. Nothing in it is marked yet. */
export interface TextBlock {
  /** Its place: the text itself, or for a replacement the object that contains both texts. */
  readonly pointer: string;
  readonly subject: BlockSubject;
  /** Facts that lines cannot show, in words. */
  readonly lineEnds: readonly string[];
  /** All of the text, or of both texts of a replacement. */
  readonly lines: readonly DiffLine[];
}

/** The text blocks of a value, and the placeholders with their sizes in the JSON, by JSON pointer. */
export interface TextBlocks {
  readonly blocks: readonly TextBlock[];
  readonly sizes: ReadonlyMap<string, string>;
}

const pathNames = ['path', 'file', 'filePath', 'file_path', 'filename', 'file_name', 'target_file'];
const contentNames = /content|text|code|body/i;
const replacements = [
  ['old_string', 'new_string'],
  ['oldString', 'newString'],
  ['old_str', 'new_str'],
  ['old_text', 'new_text'],
  ['oldText', 'newText'],
  ['before', 'after'],
  ['search', 'replace'],
] as const;

/** Extracts the long texts of a JSON value: replacements as diffs, file contents as added lines, others unchanged. */
export function textBlocksOf(value: JsonValue): TextBlocks {
  const blocks: TextBlock[] = [];
  const sizes = new Map<string, string>();
  const visit = (node: JsonValue, pointer: string): void => {
    const replacement = replacementIn(node);
    if (replacement !== undefined) {
      const { oldName, newName, before, after } = replacement;
      const subject = { kind: 'replacement', oldName, newName } as const;
      blocks.push({ pointer, subject, lineEnds: [], lines: foldBlankLines(wholeDiff(before, after)) });
      sizes.set(`${pointer}/${oldName}`, sizeOf(before));
      sizes.set(`${pointer}/${newName}`, sizeOf(after));
    }
    for (const member of membersOf(node, pointer)) {
      if (sizes.has(member.pointer)) continue;
      if (typeof member.value === 'string' && isLong(member.value)) {
        blocks.push(longText(node, member.name, member.pointer, member.value));
        sizes.set(member.pointer, sizeOf(member.value));
      } else visit(member.value, member.pointer);
    }
  };
  visit(value, '');
  return { blocks, sizes };
}

/** Returns whether a text has several lines; a final line end does not count. */
export function isLong(text: string): boolean {
  return /\n[^\n]/.test(text);
}

function sizeOf(text: string): string {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `${lines} ${lines === 1 ? 'line' : 'lines'}, ${text.length.toLocaleString('en-US')} characters`;
}

function stringAt(value: JsonValue, name: string): string | undefined {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  const found = (value as Readonly<Record<string, JsonValue>>)[name];
  return typeof found === 'string' ? found : undefined;
}

interface Replacement {
  readonly oldName: string;
  readonly newName: string;
  readonly before: string;
  readonly after: string;
}

function replacementIn(value: JsonValue): Replacement | undefined {
  for (const [oldName, newName] of replacements) {
    const before = stringAt(value, oldName);
    const after = stringAt(value, newName);
    if (before !== undefined && after !== undefined && (isLong(before) || isLong(after))) {
      return { oldName, newName, before, after };
    }
  }
  return undefined;
}

function longText(owner: JsonValue, name: string, pointer: string, text: string): TextBlock {
  const file = pathNames.map((key) => stringAt(owner, key)).find((found) => found !== undefined);
  const block = { pointer, lineEnds: lineEndsOf(text) };
  const lines = linesOf(text);
  if (file !== undefined && contentNames.test(name)) {
    return {
      ...block,
      subject: { kind: 'file', file },
      lines: shown(lines.map((line) => ({ kind: '+', text: line }))),
    };
  }
  if (/^(diff --git |--- |@@ )/.test(text)) {
    return { ...block, subject: { kind: 'patch' }, lines: shown(patchLines(lines)) };
  }
  return { ...block, subject: { kind: 'text' }, lines: shown(lines.map((line) => ({ kind: ' ', text: line }))) };
}

function shown(lines: readonly DiffLine[]): readonly DiffLine[] {
  return foldBlankLines(lines);
}

/** Where all line ends are CRLF, the note of the block says it. Otherwise each CR is seen in its line. */
function linesOf(text: string): string[] {
  const lines = (isCrlf(text) ? text.replaceAll('\r\n', '\n') : text).split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

function isCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(?<!\r)\n/.test(text);
}

function lineEndsOf(text: string): string[] {
  const crlf = isCrlf(text) ? ['CRLF line ends'] : [];
  return text.endsWith('\n') ? crlf : [...crlf, 'no line end at the end'];
}
