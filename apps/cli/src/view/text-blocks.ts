import type { JsonValue } from '@countersign/contracts';
import type { DiffLine } from '../text/line-diff.js';
import { lineDiff } from '../text/line-diff.js';
import { printable } from '../text/printable.js';
import { membersOf } from './json-lines.js';

/** A text of several lines inside a JSON value, shown as lines beside the JSON. */
export interface TextBlock {
  readonly title: string;
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
  const take = (pointer: string, text: string): void => void standIns.set(pointer, `⟨${sizeOf(text)}, below⟩`);
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

/** The changes between the long texts that two JSON values have in the same places. */
export function textChangesOf(before: JsonValue, after: JsonValue, pointer = ''): TextBlocks {
  if (typeof before === 'string' && typeof after === 'string') {
    if (before === after || !(isLong(before) || isLong(after))) return { blocks: [], standIns: new Map() };
    const block: TextBlock = { title: printable(pointer), lines: lineDiff(before, after), kind: 'diff' };
    return { blocks: [block], standIns: new Map([[pointer, '⟨changed, below⟩']]) };
  }
  const others = new Map(membersOf(after, pointer).map((member) => [member.pointer, member.value]));
  const parts = membersOf(before, pointer).map((member) => {
    const other = others.get(member.pointer);
    return other === undefined ? undefined : textChangesOf(member.value, other, member.pointer);
  });
  const found = parts.filter((part) => part !== undefined);
  return {
    blocks: found.flatMap(({ blocks }) => blocks),
    standIns: new Map(found.flatMap(({ standIns }) => [...standIns])),
  };
}

function isLong(text: string): boolean {
  return /\n[^\n]/.test(text);
}

function sizeOf(text: string): string {
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `${String(lines)} ${lines === 1 ? 'line' : 'lines'}, ${text.length.toLocaleString('en-US')} characters`;
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

function replacementBlock({ oldName, newName, before, after }: Replacement, pointer: string): TextBlock {
  const title = `${printable(pointer)}/${oldName} → ${newName}`;
  const same: DiffLine[] = [{ kind: ' ', text: '(no change: both texts are equal)' }];
  return { title, lines: before === after ? same : lineDiff(before, after), kind: 'diff' };
}

function longText(owner: JsonValue, name: string, pointer: string, text: string): TextBlock {
  const file = pathNames.map((key) => stringAt(owner, key)).find((found) => found !== undefined);
  const title = `${printable(pointer)}${lineEnds(text)}`;
  if (file !== undefined && contentNames.test(name)) {
    const lines = linesOf(text).map((line): DiffLine => ({ kind: '+', text: line }));
    return { title: `${title}: what would stand in ${printable(file)}`, lines, kind: 'diff' };
  }
  if (/^(diff --git |--- |@@ )/.test(text))
    return { title: `${title}: a patch`, lines: linesOf(text).map(patchLine), kind: 'diff' };
  return { title, lines: linesOf(text).map((line): DiffLine => ({ kind: ' ', text: line })), kind: 'plain' };
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
function lineEnds(text: string): string {
  const crlf = text.includes('\r\n') ? ' (CRLF line ends)' : '';
  return text.endsWith('\n') ? crlf : `${crlf} (no line end at the end)`;
}
