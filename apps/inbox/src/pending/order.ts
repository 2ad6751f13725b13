import type { ApprovalView } from '@countersign/contracts';

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

const ranks = { high: 0, medium: 1, low: 2 } as const;

function rankOf({ risk }: ApprovalView): number {
  return risk === null ? 3 : ranks[risk];
}

function endOf({ expiresAt }: ApprovalView): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

/** Infinity has no difference to itself. */
function byEnd(one: ApprovalView, other: ApprovalView): number {
  const [first, second] = [endOf(one), endOf(other)];
  return first === second ? 0 : first - second;
}

/**
 * The approvals, which come the oldest first, in an order. `risk` is that of the server's `sort=risk`: the highest first,
 * within one the first to expire.
 */
export function inOrder(approvals: readonly ApprovalView[], order: Order): readonly ApprovalView[] {
  switch (order) {
    case 'risk':
      return approvals.toSorted((one, other) => rankOf(one) - rankOf(other) || byEnd(one, other));
    case 'deadline':
      return approvals.toSorted((one, other) => byEnd(one, other) || rankOf(one) - rankOf(other));
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
  const groups = new Map<string, ApprovalView[]>();
  for (const approval of approvals) {
    const key = groupOf(approval, grouping);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [approval]);
    else group.push(approval);
  }
  return [...groups].flatMap(([key, of]): Line[] => {
    const lines = of.map((approval) => ({ kind: 'approval', approval }) as const);
    return of.length === 1 ? lines : [{ kind: 'heading', key, of }, ...lines];
  });
}

/** Attack: an agent names its step or its run like that of another principal. */
function groupOf({ approvalId, requestedBy, runId, batch }: ApprovalView, grouping: Grouping): string {
  if (grouping === 'run') return JSON.stringify(['run', requestedBy, runId]);
  if (grouping === 'step' && batch !== null) {
    return JSON.stringify(['step', requestedBy, runId, batch.batchId ?? batch.callIds]);
  }
  return JSON.stringify(['one', approvalId]);
}
