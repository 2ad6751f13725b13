import { memo } from 'react';
import type { ReactNode } from 'react';
import { lineSegments, quotedName, rightToLeftParts, segmentsOf } from '@countersign/text';
import type { Segment } from '@countersign/text';
import { markWords } from '../text/mark-words.js';

/** A foreign text on the page: as text alone, every character seen. */
export const Marked = memo(function Marked(props: {
  text: string;
  keepsLines?: boolean;
  /** Its rows are full, so that each blank is seen. */
  isFull?: boolean;
}): ReactNode {
  const { text, keepsLines = false, isFull = false } = props;
  return shown(segmentsOf(text, { inWords: !isFull, ...(keepsLines && { partedBy: '\n\t', inLines: true }) }));
});

/** A foreign name on a line of ours, in quotes where it could be read as a part of that line. */
export const Name = memo(function Name({ text }: { text: string }): ReactNode {
  return shown(segmentsOf(quotedName(text), { inWords: true }));
});

/** One line of a foreign text, with its indentation. */
export const MarkedLine = memo(function MarkedLine({ line }: { line: string }): ReactNode {
  return shown(lineSegments(line));
});

function shown(segments: readonly Segment[]): ReactNode {
  return segments.map((segment, index) =>
    segment.kind === 'text' ? (
      rightToLeftParts(segment.text).map((part, at) => (at % 2 === 0 ? part : <bdi key={`${index} ${at}`}>{part}</bdi>))
    ) : (
      <mark key={index} className="cs-mark" title={markWords(segment.reason, segment.character)}>
        {segment.text}
      </mark>
    ),
  );
}
