import { useMemo } from 'react';
import type { ReactNode } from 'react';
import type { JsonValue } from '@countersign/contracts';
import { lineDiff } from '@countersign/text';
import { DiffLines } from './diff-lines.js';

/** The change from one JSON value to another, line by line. */
export function ArgumentsChange({ before, after }: { before: JsonValue; after: JsonValue }): ReactNode {
  const lines = useMemo(() => lineDiff(textOf(before), textOf(after)), [before, after]);
  return lines.length === 0 ? (
    <p className="cs-muted">No change: the arguments are the ones that were requested.</p>
  ) : (
    <DiffLines lines={lines} kind="diff" />
  );
}

/**
 * Long texts are split into lines, so that a change in one line is a one-line diff. One space a level: a deeper layout
 * would be marked like the spaces of a text.
 */
function textOf(value: JsonValue): string {
  return JSON.stringify(value, null, 1).replaceAll('\\n', '\\n\n');
}
