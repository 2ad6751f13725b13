import type { JsonValue } from '@countersign/contracts';
import { membersOf, stringAt } from './json-tree.js';
import type { DiffLine } from './line-diff.js';
import { lineDiff } from './line-diff.js';

/** A text of several lines inside a JSON value, shown as lines beside the JSON. */
export interface TextBlock {
  readonly title: string;
  readonly note: string;
  readonly lines: readonly DiffLine[];
  /** Plain text has a bar before each line instead of the sign of a diff. */
  readonly kind: 'plain' | 'diff';
}

/** The blocks of a value, and what stands in the JSON in their place, by JSON pointer. */
export interface TextBlocks {
  readonly blocks: readonly TextBlock[];
  readonly standIns: ReadonlyMap<string, string>;
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

/** Takes the long texts out of a JSON value: replacements as diffs, contents of files as added lines, others as they are. */
export function textBlocksOf(value: JsonValue): TextBlocks {
  const blocks: TextBlock[] = [];
  const standIns = new Map<string, string>();
  const take = (pointer: string, text: string): void => void standIns.set(pointer, `${sizeOf(text)}, below`);
  const visit = (node: JsonValue, pointer: string): void => {
    const replacement = replacementIn(node);
    if (replacement !== undefined) {
      blocks.push(replacementBlock(replacement, pointer));
      take(`${pointer}/${replacement.oldName}`, replacement.before);
      take(`${pointer}/${replacement.newName}`, replacement.after);
    }
    for (const member of membersOf(node, pointer)) {
      if (standIns.has(member.pointer)) continue;
      if (typeof member.value === 'string' && isLong(member.value)) {
        blocks.push(longText(node, member.name, member.pointer, member.value));
        take(member.pointer, member.value);
      } else visit(member.value, member.pointer);
    }
  };
  visit(value, '');
  return { blocks, standIns };
}

function isLong(text: string): boolean {
  return /\n[^\n]/.test(text);
}

function sizeOf(text: string): string {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `${lines} ${lines === 1 ? 'line' : 'lines'}, ${text.length.toLocaleString('en-US')} characters`;
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

function replacementBlock({ oldName, newName, before, after }: Replacement, pointer: string): TextBlock {
  const title = `${pointer}/${oldName} → ${newName}`;
  if (before === after) return { title, note: 'no change: both texts are equal', lines: [], kind: 'diff' };
  return { title, note: 'the change', lines: lineDiff(before, after), kind: 'diff' };
}

function longText(owner: JsonValue, name: string, pointer: string, text: string): TextBlock {
  const file = pathNames.map((key) => stringAt(owner, key)).find((found) => found !== undefined);
  const notes = [...lineEnds(text)];
  if (file !== undefined && contentNames.test(name)) {
    const lines = linesOf(text).map((line): DiffLine => ({ kind: '+', text: line }));
    return { title: pointer, note: [`what would stand in ${file}`, ...notes].join(', '), lines, kind: 'diff' };
  }
  if (/^(diff --git |--- |@@ )/.test(text)) {
    return {
      title: pointer,
      note: ['a patch', ...notes].join(', '),
      lines: linesOf(text).map(patchLine),
      kind: 'diff',
    };
  }
  const lines = linesOf(text).map((line): DiffLine => ({ kind: ' ', text: line }));
  return { title: pointer, note: notes.join(', '), lines, kind: 'plain' };
}

/** A heading such as `--- a/file` keeps its sign: it adds and removes nothing. */
function patchLine(line: string): DiffLine {
  if (line.startsWith('@@')) return { kind: '@', text: line };
  if (/^(---|\+\+\+) /.test(line)) return { kind: ' ', text: line };
  if (line.startsWith('-')) return { kind: '-', text: line.slice(1) };
  return line.startsWith('+') ? { kind: '+', text: line.slice(1) } : { kind: ' ', text: line.replace(/^ /, '') };
}

function linesOf(text: string): string[] {
  const lines = text.replaceAll('\r\n', '\n').split('\n');
  return lines.at(-1) === '' ? lines.slice(0, -1) : lines;
}

/** Said, because the lines cannot show it. */
function lineEnds(text: string): string[] {
  const crlf = text.includes('\r\n') ? ['CRLF line ends'] : [];
  return text.endsWith('\n') ? crlf : [...crlf, 'no line end at the end'];
}
