import { memo, useEffect, useRef } from 'react';
import type { MouseEvent, ReactNode } from 'react';
import { useVirtualizer } from '@tanstack/react-virtual';
import type { ApprovalView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { hrefs } from '../routes.js';
import { summaryOf } from '../text/json-tree.js';
import { RiskBadge } from '../ui/badges.js';
import { Link } from '../ui/link.js';
import { Marked } from '../ui/marked.js';
import { Age, Countdown } from '../ui/time.js';

const rowHeightPx = 84;

/** The actions of the list. */
export interface PendingListProps {
  readonly approvals: readonly ApprovalView[];
  readonly currentId: string | undefined;
  readonly selected: ReadonlySet<string>;
  /** `isRange`: everything between this and what was selected last. */
  readonly onSelect: (approvalId: string, isRange: boolean) => void;
}

/** The pending approvals, the oldest first. Only the visible rows are rendered. */
export function PendingList({ approvals, currentId, selected, onSelect }: PendingListProps): ReactNode {
  const scroller = useRef<HTMLDivElement>(null);
  const virtualizer = useVirtualizer({
    count: approvals.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeightPx,
    getItemKey: (index) => approvals[index]?.approvalId ?? index,
    overscan: 8,
  });
  const currentIndex = approvals.findIndex(({ approvalId }) => approvalId === currentId);
  useEffect(() => {
    if (currentIndex >= 0) virtualizer.scrollToIndex(currentIndex, { align: 'auto' });
    // Scrolls when another approval is selected, and not when the list above it becomes shorter.
  }, [currentId]);
  return (
    <div ref={scroller} className="list-scroll">
      <ul className="list" aria-label="Pending approvals" style={{ height: virtualizer.getTotalSize() }}>
        {virtualizer.getVirtualItems().map(({ index, key, start }) => {
          const approval = approvals[index];
          return approval === undefined ? null : (
            <li
              key={key}
              className="row"
              aria-setsize={approvals.length}
              aria-posinset={index + 1}
              data-current={approval.approvalId === currentId}
              style={{ height: rowHeightPx, transform: `translateY(${start}px)` }}
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

/** Returns whether the person may decide an approval, as far as the server has said. */
export function isDecidable({ mayDecide }: ApprovalView): boolean {
  return mayDecide?.now !== false;
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
            <Marked text={toolName} />
          </span>
          {risk === 'high' && <RiskBadge risk={risk} />}
          <span className="row-age">
            <Age time={requestedAt} />
          </span>
        </span>
        <span className="row-arguments">
          <Marked text={summaryOf(approval.arguments)} />
        </span>
        <span className="row-foot">
          <span className="row-agent">
            <Marked text={agentId} />
          </span>
          <Countdown approval={approval} />
        </span>
      </Link>
    </>
  );
});
