import type { JsonValue } from '@countersign/contracts';
import type { DiffLine, TextBlock } from '@countersign/text';
import { textBlocksOf as blocksOf } from '@countersign/text';

/** A multi-line text inside a JSON value, shown as lines next to the JSON. Title and note are foreign texts. */
export interface ShownBlock {
  readonly title: string;
  readonly note: string;
  readonly lines: readonly DiffLine[];
  /** Plain text has a bar before each line instead of the sign of a diff. */
  readonly kind: 'plain' | 'diff';
}

/** The text blocks of a value and the placeholders for them in the JSON, by JSON pointer. */
export interface ShownBlocks {
  readonly blocks: readonly ShownBlock[];
  readonly standIns: ReadonlyMap<string, string>;
}

/** The long texts of a JSON value, with a title and a note each. */
export function textBlocksOf(value: JsonValue): ShownBlocks {
  const { blocks, sizes } = blocksOf(value);
  return {
    blocks: blocks.map(shownBlock),
    standIns: new Map([...sizes].map(([pointer, size]) => [pointer, `${size}, below`])),
  };
}

function shownBlock({ pointer, subject, lineEnds, lines }: TextBlock): ShownBlock {
  const noteOf = (...words: readonly string[]): string => [...words, ...lineEnds].join(', ');
  switch (subject.kind) {
    case 'replacement': {
      const title = `${pointer}/${subject.oldName} → ${subject.newName}`;
      return {
        title,
        note: lines.every(({ kind }) => kind === ' ') ? 'no change: both texts are equal' : 'the change',
        lines,
        kind: 'diff',
      };
    }
    case 'file':
      return { title: pointer, note: noteOf(`what would stand in ${subject.file}`), lines, kind: 'diff' };
    case 'patch':
      return { title: pointer, note: noteOf('a patch'), lines, kind: 'diff' };
    case 'text':
      return { title: pointer, note: noteOf(), lines, kind: 'plain' };
  }
}
