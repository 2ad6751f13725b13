import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { DiffLine } from '@countersign/text';
import { lineDiff, printable, writtenMaskNote, writtenMasks } from '@countersign/text';
import type { HiddenPlace } from '@countersign/text';
import { printableLine } from '../text/printable.js';
import { goesOn } from '../text/width.js';
import { jsonLines } from './json-lines.js';
import type { Line } from './line.js';
import { wrapped } from './line.js';
import type { ShownBlock } from './text-blocks.js';
import { shownBlocksOf, textChangesOf } from './text-blocks.js';

/**
 * The arguments of a call as an approver reads them: the JSON, and below it every text of several lines as lines. All of
 * it: nothing is left out or cut.
 */
export function argumentLines(
  args: JsonObject,
  columns: number,
  hiddenValues: readonly HiddenPlace[] = [],
  note = writtenMaskNote,
): readonly Line[] {
  const before = drawn.get(args);
  if (before?.columns === columns) return before.lines;
  const { blocks, standIns } = shownBlocksOf(args);
  const written = writtenMasks(args, hiddenValues);
  const json = jsonLines(args, columns, (pointer, value) =>
    written.has(pointer) ? `${printable(JSON.stringify(value))} ⟦${note}⟧` : standIns.get(pointer),
  );
  const lines = [...json.map((text) => ({ text })), ...blockLines(blocks, columns)];
  drawn.set(args, { columns, lines });
  return lines;
}

/** Cached: the inbox renders a card every second, and arguments of 256 KiB would delay each key. */
const drawn = new WeakMap<JsonObject, { readonly columns: number; readonly lines: readonly Line[] }>();

/**
 * The change from one JSON value to another as a unified diff, with long texts line by line; empty when they are equal.
 */
export function changeLines(before: JsonValue, after: JsonValue, columns: number): Line[] {
  const { blocks, standIns } = textChangesOf(before, after);
  const [old, edited] = [before, after].map((value) =>
    // One line each: both sides must break at the same places.
    jsonLines(value, Number.POSITIVE_INFINITY, (pointer) => standIns.get(pointer)).join('\n'),
  );
  const json = lineDiff(old ?? '', edited ?? '').flatMap((line) => diffLine(line, line.text, columns, line.kind));
  return [...json, ...blockLines(blocks, columns)];
}

function blockLines(blocks: readonly ShownBlock[], columns: number): Line[] {
  return blocks.flatMap(({ title, lines, kind }): Line[] => [
    { text: '' },
    ...wrapped(title, columns, 'bold', goesOn),
    ...lines.flatMap((line) => diffLine(line, lineText(line), columns, kind === 'plain' ? '│' : line.kind)),
  ]);
}

function lineText({ text, blank }: DiffLine): string {
  return blank === undefined ? printableLine(text) : `⟦${blank}⟧`;
}

const toneOfKind = { '-': 'red', '+': 'green', '@': 'cyan', ' ': undefined } as const;

function diffLine(line: DiffLine, printableText: string, columns: number, sign: string): Line[] {
  // A line outside of all hunks has a bar. A patch neither keeps, removes nor adds it, whatever it begins with.
  return wrapped(`${sign === '@' ? '│' : sign} ${printableText}`, columns, toneOfKind[line.kind], goesOn);
}
