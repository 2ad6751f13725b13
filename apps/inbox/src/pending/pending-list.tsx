import { memo, useEffect, useLayoutEffect, useMemo, useRef } from 'react';
import type { MouseEvent, ReactNode } from 'react';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ApprovalView } from '@countersign/contracts';
import { printable, turnWords } from '@countersign/text';
import { Age, Countdown, Marked, Name, RiskBadge, summaryOf } from '@countersign/react/parts';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { isDecidable } from './order.js';
import type { Line } from './order.js';
import { selectedMax } from './use-selection.js';

const rowHeightPx = 84;
const headingHeightPx = 32;
const loadingRows = 6;

/** The actions of the list. */
export interface PendingListProps {
  readonly lines: readonly Line[];
  /** The approvals among the lines. */
  readonly count: number;
  readonly currentId: string | undefined;
  readonly selected: ReadonlySet<string>;
  /** `isRange`: everything between this and what was selected last. */
  readonly onSelect: (approvalId: string, isRange: boolean) => void;
  /** Opens the preview of all that a heading holds. */
  readonly onReview: (approvals: readonly ApprovalView[]) => void;
}

/** The pending approvals in their order. Only the visible rows are rendered. */
export function PendingList(props: PendingListProps): ReactNode {
  const { lines, count, currentId, selected, onSelect, onReview } = props;
  const scroller = useRef<HTMLDivElement>(null);
  const places = useMemo(() => placesOf(lines), [lines]);
  const virtualizer = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) => (lines[index]?.kind === 'heading' ? headingHeightPx : rowHeightPx),
    getItemKey: (index) => keyOf(lines[index]) ?? index,
    overscan: 8,
  });
  // Headings are lower than rows, and the list knows their places by index.
  useLayoutEffect(() => virtualizer.measure(), [virtualizer, lines]);
  const currentIndex = lines.findIndex((line) => keyOf(line) === currentId);
  useEffect(() => {
    if (currentIndex >= 0) virtualizer.scrollToIndex(currentIndex, { align: 'auto' });
    // Scrolls when another approval is selected, and not when the list above it becomes shorter.
  }, [currentId]);
  return (
    <div ref={scroller} className="list-scroll">
      <ul className="list" aria-label="Pending approvals" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, key, start, size }) => {
          const line = lines[index];
          const style = { height: size, transform: `translateY(${start}px)` };
          if (line === undefined) return null;
          if (line.kind === 'heading') {
            return (
              <li key={key} className="list-heading" style={style}>
                <Heading of={line.of} onReview={onReview} />
              </li>
            );
          }
          const { approval } = line;
          return (
            <li
              key={key}
              className="row"
              aria-setsize={count}
              aria-posinset={places[index] ?? 0}
              data-current={approval.approvalId === currentId}
              style={style}
            >
              <Row
                approval={approval}
                isCurrent={approval.approvalId === currentId}
                isSelected={selected.has(approval.approvalId)}
                onSelect={onSelect}
              />
            </li>
          );
        })}
      </ul>
    </div>
  );
}

/** Stands for the rows until they are known. */
export function LoadingList(): ReactNode {
  return (
    <div className="list-scroll" aria-busy="true" role="status" aria-label="Reading what is pending">
      {Array.from({ length: loadingRows }, (_, index) => (
        <div key={index} className="row-loading" aria-hidden="true">
          <span />
          <span />
          <span />
        </div>
      ))}
    </div>
  );
}

function keyOf(line: Line | undefined): string | undefined {
  return line?.kind === 'heading' ? line.key : line?.approval.approvalId;
}

/** The place of each line among the approvals, from 1. */
function placesOf(lines: readonly Line[]): readonly number[] {
  let place = 0;
  return lines.map(({ kind }) => (kind === 'approval' ? (place += 1) : place));
}

/** The heading of a group, and the button that answers all of it at once. */
function Heading({ of, onReview }: { of: readonly ApprovalView[]; onReview: PendingListProps['onReview'] }): ReactNode {
  const decidable = of.filter(isDecidable);
  const [first] = of;
  if (first === undefined) return null;
  return (
    <>
      <span className="list-heading-words">
        {of.length}× <Name text={first.runId} />
        {first.batch?.mode === 'all-or-nothing' && ', all or nothing'}
      </span>
      {decidable.length > 1 && (
        <button className="cs-button cs-quiet" type="button" onClick={() => onReview(decidable.slice(0, selectedMax))}>
          Review all {Math.min(decidable.length, selectedMax)} …
        </button>
      )}
    </>
  );
}

const Row = memo(function Row(props: {
  approval: ApprovalView;
  isCurrent: boolean;
  isSelected: boolean;
  onSelect: PendingListProps['onSelect'];
}): ReactNode {
  const { approval, isCurrent, isSelected, onSelect } = props;
  const { approvalId, toolName, agentId, requestedAt, risk } = approval;
  const onClick = (event: MouseEvent): void => onSelect(approvalId, event.shiftKey);
  return (
    <>
      <label className="row-check">
        {isDecidable(approval) && (
          <input
            type="checkbox"
            checked={isSelected}
            aria-label={`Select ${printable(toolName, 80)}`}
            onClick={onClick}
            onChange={() => undefined}
          />
        )}
      </label>
      <Link href={hrefs.approval(approvalId)} className="row-link" {...(isCurrent && { 'aria-current': 'true' })}>
        <span className="row-head">
          <span className="row-tool">
            <Name text={toolName} />
          </span>
          {(risk === 'high' || risk === 'medium') && <RiskBadge risk={risk} />}
          <span className="row-age">
            <Age time={requestedAt} />
          </span>
        </span>
        <span className="row-arguments">
          <Marked text={summaryOf(approval.arguments)} />
        </span>
        <span className="row-foot">
          <span className="row-agent">
            <Name text={agentId} />
            {waitsForWords(approval)}
          </span>
          <Countdown approval={approval} />
        </span>
      </Link>
    </>
  );
});

/** Why it is not for the person; empty: it is. */
function waitsForWords({ mayDecide }: ApprovalView): string {
  const words = turnWords(mayDecide);
  return words === '' ? '' : ` · ${words}`;
}
