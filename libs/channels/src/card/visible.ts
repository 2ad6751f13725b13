import type { SegmentOptions } from '@countersign/text';
import { segmentsOf, textOf } from '@countersign/text';

/** A foreign text in which every character is seen. */
export interface Visible {
  readonly text: string;
  /** Letters of another alphabet that look like Latin ones; each is marked. */
  readonly posing: number;
  /** Characters that would not have been seen; each is marked. */
  readonly hidden: number;
}

/** Marks and counts control, invisible and reordering characters, and letters that look like Latin ones. */
export function look(text: string, options?: SegmentOptions): Visible {
  const segments = segmentsOf(text, options);
  const marks = segments.filter((segment) => segment.kind === 'mark');
  const posing = marks.filter(({ reason }) => reason === 'posing').length;
  return { text: textOf(segments), posing, hidden: marks.length - posing };
}

/** A number as people read it. */
export function countOf(count: number): string {
  return count.toLocaleString('en-US');
}
