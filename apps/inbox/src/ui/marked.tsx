import { memo } from 'react';
import type { ReactNode } from 'react';
import { segmentsOf } from '../text/marks.js';

/** A foreign text on the page: as text alone, every character seen. */
export const Marked = memo(function Marked({
  text,
  keepsLines = false,
}: {
  text: string;
  keepsLines?: boolean;
}): ReactNode {
  return segmentsOf(text, { keepsLines }).map((segment, index) =>
    segment.kind === 'text' ? (
      segment.text
    ) : (
      <mark key={index} className="mark" title={segment.why}>
        {segment.text}
      </mark>
    ),
  );
});
