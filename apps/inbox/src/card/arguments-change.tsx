import { useMemo } from 'react';
import type { ReactNode } from 'react';
import type { JsonValue } from '@countersign/contracts';
import { lineDiff } from '@countersign/text';
import { DiffLines } from './diff-lines.js';

/** The change from one JSON value to another, line by line. */
export function ArgumentsChange({ before, after }: { before: JsonValue; after: JsonValue }): ReactNode {
  const lines = useMemo(() => lineDiff(textOf(before), textOf(after)), [before, after]);
  return lines.length === 0 ? (
    <p className="muted">No change: the arguments are the ones that were requested.</p>
  ) : (
    <DiffLines lines={lines} kind="diff" />
  );
}

/** As an editor shows it, with the lines of long texts as lines, so that a change in one is a change of one line. */
function textOf(value: JsonValue): string {
  return JSON.stringify(value, null, 2).replaceAll('\\n', '\\n\n');
}
