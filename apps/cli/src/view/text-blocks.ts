import type { JsonValue } from '@countersign/contracts';
import type { DiffLine, TextBlock } from '@countersign/text';
import { isLong, lineDiff, membersOf, printable, textBlocksOf } from '@countersign/text';

/** A text of several lines inside a JSON value, shown as lines below the JSON. */
export interface ShownBlock {
  readonly title: string;
  readonly lines: readonly DiffLine[];
  /** Plain text has a bar before each line instead of the sign of a diff. */
  readonly kind: 'plain' | 'diff';
}

/** The text blocks of a value and the placeholders for them in the JSON, by JSON pointer. */
export interface ShownBlocks {
  readonly blocks: readonly ShownBlock[];
  readonly standIns: ReadonlyMap<string, string>;
}

/** The long texts of a JSON value, titled. */
export function shownBlocksOf(value: JsonValue): ShownBlocks {
  const { blocks, sizes } = textBlocksOf(value);
  return {
    blocks: blocks.map(shownBlock),
    standIns: new Map([...sizes].map(([pointer, size]) => [pointer, `⟨${size}, below⟩`])),
  };
}

function shownBlock({ pointer, subject, lineEnds, lines }: TextBlock): ShownBlock {
  const title = `${printable(pointer)}${lineEnds.map((words) => ` (${words})`).join('')}`;
  switch (subject.kind) {
    case 'replacement': {
      const note = lines.every((line) => line.kind === ' ') ? ' (no change: both texts are equal)' : '';
      return { title: `${title}/${subject.oldName} → ${subject.newName}${note}`, lines, kind: 'diff' };
    }
    case 'file':
      return { title: `${title}: what would stand in ${printable(subject.file)}`, lines, kind: 'diff' };
    case 'patch':
      return { title: `${title}: a patch`, lines, kind: 'diff' };
    case 'text':
      return { title, lines, kind: 'plain' };
  }
}

/** The changes between the long texts that two JSON values have in the same places. */
export function textChangesOf(before: JsonValue, after: JsonValue, pointer = ''): ShownBlocks {
  if (typeof before === 'string' && typeof after === 'string') {
    if (before === after || !(isLong(before) || isLong(after))) return { blocks: [], standIns: new Map() };
    const block: ShownBlock = { title: printable(pointer), lines: lineDiff(before, after), kind: 'diff' };
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
