/** What the order of a list of approvals depends on. */
export interface ListedApproval {
  readonly approvalId: string;
  readonly requestedBy: string;
  readonly runId: string;
  readonly batch: { readonly batchId: string | null; readonly callIds: readonly string[] } | null;
  readonly risk: 'low' | 'medium' | 'high' | null;
  readonly expiresAt: string | null;
}

const ranks = { high: 0, medium: 1, low: 2 } as const;

function rankOf({ risk }: ListedApproval): number {
  return risk === null ? 3 : ranks[risk];
}

function endOf({ expiresAt }: ListedApproval): number {
  return expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt);
}

/** Infinity has no difference to itself. */
function byEnd(one: ListedApproval, other: ListedApproval): number {
  const [first, second] = [endOf(one), endOf(other)];
  return first === second ? 0 : first - second;
}

/** Compares as the server's `sort=risk`: the highest risk first, within one the first to expire, without an end last. */
export function byRisk(one: ListedApproval, other: ListedApproval): number {
  return rankOf(one) - rankOf(other) || byEnd(one, other);
}

/** Compares by the deadline, then by the risk. */
export function byDeadline(one: ListedApproval, other: ListedApproval): number {
  return byEnd(one, other) || rankOf(one) - rankOf(other);
}

/** Returns the same text for the approvals of one step. One without a step has a text of its own. */
export function stepOf({ approvalId, requestedBy, runId, batch }: ListedApproval): string {
  if (batch === null) return JSON.stringify(['one', approvalId]);
  // Attack: an agent names its step like that of another principal.
  return JSON.stringify(['step', requestedBy, runId, batch.batchId ?? batch.callIds]);
}

/** Puts items with the same key together, in the place of the first of them. */
export function together<T>(items: Iterable<T>, keyOf: (item: T) => string): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [item]);
    else group.push(item);
  }
  return groups;
}
