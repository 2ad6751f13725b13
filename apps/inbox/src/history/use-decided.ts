import { useEffect, useState } from 'react';
import type { ApprovalState, ApprovalView } from '@countersign/contracts';
import { listApprovals, readApproval } from '../api/countersign.js';
import type { Problem } from '../api/problem.js';
import { problemOf } from '../api/problem.js';
import { usePendingStore } from '../live/use-pending.js';

/** The approvals that ended, the latest first. */
export interface Decided {
  readonly approvals: readonly ApprovalView[];
  readonly isLoading: boolean;
  /** Only the latest are loaded: the ledger has more than a browser should hold. */
  readonly isPartial: boolean;
  readonly problem: Problem | undefined;
}

const endStates = ['approved', 'denied', 'expired', 'cancelled'] as const satisfies readonly ApprovalState[];
const pageSize = 1000;
const pagesMax = 10;

/** Loads what was decided, and adds what is decided from now on. */
export function useDecided(): Decided {
  const store = usePendingStore();
  const [decided, setDecided] = useState<Decided>({
    approvals: [],
    isLoading: true,
    isPartial: false,
    problem: undefined,
  });
  useEffect(() => {
    const abort = new AbortController();
    const byId = new Map<string, ApprovalView>();
    const publish = (part: Partial<Decided>): void => {
      if (abort.signal.aborted) return;
      setDecided((before) => ({ ...before, ...part, approvals: [...byId.values()].sort(latestFirst) }));
    };
    const load = async (state: ApprovalState): Promise<boolean> => {
      let cursor: string | null = null;
      for (let page = 0; page < pagesMax; page += 1) {
        const answer = await listApprovals(state, { order: 'newest', cursor, limit: pageSize, signal: abort.signal });
        for (const approval of answer.approvals) byId.set(approval.approvalId, approval);
        // The newest are there at once; the older ones follow.
        publish({});
        cursor = answer.nextCursor;
        if (cursor === null) return false;
      }
      return true;
    };
    Promise.all(endStates.map(load)).then(
      (partial) => publish({ isLoading: false, isPartial: partial.includes(true) }),
      (error: unknown) => publish({ isLoading: false, problem: problemOf(error) }),
    );
    const stopListening = store.onEnded((approvalId) => {
      readApproval(approvalId).then(
        (approval) => {
          byId.set(approvalId, approval);
          publish({});
        },
        () => undefined,
      );
    });
    return () => {
      abort.abort();
      stopListening();
    };
  }, [store]);
  return decided;
}

function latestFirst(a: ApprovalView, b: ApprovalView): number {
  return (b.resolvedAt ?? '').localeCompare(a.resolvedAt ?? '');
}
