import type { ApprovalView } from '@countersign/contracts';
import { byDeadline, byRisk, stepOf, together } from '@countersign/text';

/** Whose turn it is. The server says it of each approval (`mayDecide`). */
export type Tab = 'mine' | 'others' | 'all';

/** The orders of the list. */
export type Order = 'risk' | 'deadline' | 'oldest';

/** How the list forms its groups. */
export type Grouping = 'step' | 'run' | 'none';

/** Returns whether the person may decide an approval, as far as the server has said. */
export function isDecidable({ mayDecide }: ApprovalView): boolean {
  return mayDecide?.now !== false;
}

/** The approvals of a tab. */
export function ofTab(approvals: readonly ApprovalView[], tab: Tab): readonly ApprovalView[] {
  if (tab === 'all') return approvals;
  return approvals.filter((approval) => isDecidable(approval) === (tab === 'mine'));
}

/**
 * The approvals, which come the oldest first, in an order. `risk` is that of the server's `sort=risk`: the highest first,
 * within one the first to expire.
 */
export function inOrder(approvals: readonly ApprovalView[], order: Order): readonly ApprovalView[] {
  switch (order) {
    case 'risk':
      return approvals.toSorted(byRisk);
    case 'deadline':
      return approvals.toSorted(byDeadline);
    case 'oldest':
      return approvals;
  }
}

/** A line of the list. */
export type Line =
  | { readonly kind: 'approval'; readonly approval: ApprovalView }
  | { readonly kind: 'heading'; readonly key: string; readonly of: readonly ApprovalView[] };

/**
 * The lines of the list: what belongs together stands together, where the first of it would stand. One alone has no heading.
 */
export function linesOf(approvals: readonly ApprovalView[], grouping: Grouping): readonly Line[] {
  return [...together(approvals, (one) => groupOf(one, grouping))].flatMap(([key, of]): Line[] => {
    const lines = of.map((approval) => ({ kind: 'approval', approval }) as const);
    return of.length === 1 ? lines : [{ kind: 'heading', key, of }, ...lines];
  });
}

/** Attack: an agent names its run like that of another principal. */
function groupOf(approval: ApprovalView, grouping: Grouping): string {
  const { approvalId, requestedBy, runId } = approval;
  if (grouping === 'run') return JSON.stringify(['run', requestedBy, runId]);
  return grouping === 'step' ? stepOf(approval) : JSON.stringify(['one', approvalId]);
}
