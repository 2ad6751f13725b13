import { memo } from 'react';
import type { ReactNode } from 'react';
import { segmentsOf } from '@countersign/text';
import { markWords } from '../text/mark-words.js';

/** A foreign text on the page: as text alone, every character seen. */
export const Marked = memo(function Marked({
  text,
  keepsLines = false,
}: {
  text: string;
  keepsLines?: boolean;
}): ReactNode {
  return segmentsOf(text, keepsLines ? { partedBy: '\n\t' } : {}).map((segment, index) =>
    segment.kind === 'text' ? (
      segment.text
    ) : (
      <mark key={index} className="mark" title={markWords(segment.reason, segment.character)}>
        {segment.text}
      </mark>
    ),
  );
});
