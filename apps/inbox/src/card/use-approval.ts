import { useEffect, useRef } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { readApproval } from '../api/countersign.js';
import type { Problem } from '../api/problem.js';
import { useLoaded } from '../live/use-loaded.js';
import { usePending, usePendingStore } from '../live/use-pending.js';

/** One approval, however it stands. */
export interface ShownApproval {
  readonly approval: ApprovalView | undefined;
  readonly problem: Problem | undefined;
}

/**
 * An approval as it stands: of the pending ones where it is one of them, else read by its id. It stays on the page when it
 * ends, so that nobody's card turns into another under their hand.
 */
export function useApproval(approvalId: string): ShownApproval {
  const { byId } = usePending();
  const store = usePendingStore();
  const pending = byId.get(approvalId);
  const last = useRef(pending);
  if (pending !== undefined) last.current = pending;
  const isPending = pending !== undefined;
  const { value, problem, reload } = useLoaded(`${approvalId} ${isPending ? 'pending' : 'read'}`, () =>
    isPending ? Promise.resolve(pending) : readApproval(approvalId),
  );
  useEffect(() => store.onEnded((id) => id === approvalId && reload()), [store, approvalId, reload]);
  // What was read may be younger than the list: it may have ended while the list was on its way.
  const isRead = value !== undefined && (pending === undefined || value.state !== 'pending');
  return { approval: isRead ? value : (pending ?? last.current), problem };
}
