import { useState } from 'react';
import type { ReactNode } from 'react';
import type { DiffLine } from '@countersign/text';
import { MarkedLine } from '../ui/marked.js';
import { SeenBox } from './seen.js';

const signs = { '+': 'added', '-': 'removed', ' ': undefined, '@': undefined } as const;
/** Attack: a row that goes on reads like a line of its own, such as a comment. So each line has a sign. */
const shownSigns = { '+': '+', '-': '-', ' ': '·', '@': '│' } as const;
/** Rendering more lines than this takes visible time, so they are shown on request. */
const atOnceMax = 400;

/** The lines of a text or of a diff. Added and removed lines have a sign, not only a colour. */
export function DiffLines({ lines, kind }: { lines: readonly DiffLine[]; kind: 'plain' | 'diff' }): ReactNode {
  const [isWanted, setWanted] = useState(false);
  // An edit may make it short while it is open.
  const isWhole = isWanted || lines.length <= atOnceMax;
  const shown = isWhole ? lines : lines.slice(0, atOnceMax);
  return (
    <SeenBox className="cs-diff" label={kind === 'diff' ? 'Changes' : 'Text'} isWhole={isWhole}>
      <div className="cs-diff-lines">
        {shown.map((line, index) => (
          <div key={index} className="cs-diff-line" data-sign={kind === 'plain' ? ' ' : line.kind}>
            <span className="cs-diff-sign">
              {shownSigns[kind === 'plain' ? '@' : line.kind]}
              {kind === 'diff' && signs[line.kind] !== undefined && (
                <span className="cs-visually-hidden"> {signs[line.kind]}: </span>
              )}
            </span>
            <span className="cs-diff-text">
              {line.blank === undefined ? (
                <MarkedLine line={line.text} />
              ) : (
                <mark className="cs-mark">{`⟦${line.blank}⟧`}</mark>
              )}
            </span>
          </div>
        ))}
      </div>
      {!isWhole && (
        <button className="cs-button cs-diff-more" type="button" onClick={() => setWanted(true)}>
          Show {(lines.length - atOnceMax).toLocaleString('en-US')} more lines: they run too
        </button>
      )}
    </SeenBox>
  );
}
