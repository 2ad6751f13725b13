import { useEffect, useState } from 'react';
import type { ApprovalState, ApprovalView, EventView } from '@countersign/contracts';
import { executionTypes, listApprovals, problemOf, readApproval, usePendingStore } from '@countersign/react/parts';
import type { Problem } from '@countersign/react/parts';
import { client } from '../api/client.js';
import { stateAfter } from '../api/call-events.js';
import { followEvents } from '../api/event-stream.js';
import { outcomes } from './outcomes.js';

/** The approvals that ended, the latest first. */
export interface Decided {
  readonly approvals: readonly ApprovalView[];
  readonly isLoading: boolean;
  /** Only the latest are loaded; the whole log would be too large for a browser. */
  readonly isPartial: boolean;
  readonly problem: Problem | undefined;
}

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
    // All outcomes are paged together, so that the rows of one outcome do not displace those of another.
    const load = async (): Promise<boolean> => {
      let left: readonly { state: ApprovalState; cursor: string | null }[] = outcomes.map((state) => ({
        state,
        cursor: null,
      }));
      for (let round = 0; round < pagesMax && left.length > 0; round += 1) {
        const answers = await Promise.all(left.map(readPage));
        for (const { page } of answers) for (const approval of page.approvals) byId.set(approval.approvalId, approval);
        publish({});
        left = answers.flatMap(({ state, page: { nextCursor: cursor } }) =>
          cursor === null ? [] : [{ state, cursor }],
        );
      }
      return left.length > 0;
    };
    const readPage = async ({ state, cursor }: { state: ApprovalState; cursor: string | null }) => ({
      state,
      page: await listApprovals(client, state, { order: 'newest', cursor, limit: pageSize, signal: abort.signal }),
    });
    const reload = (): void => {
      byId.clear();
      load().then(
        (isPartial) => publish({ isLoading: false, isPartial }),
        (error: unknown) => publish({ isLoading: false, problem: problemOf(error) }),
      );
    };
    reload();
    const stopListening = store.onEnded((approvalId) => {
      readApproval(client, approvalId).then(
        (approval) => {
          byId.set(approvalId, approval);
          publish({});
        },
        () => undefined,
      );
    });
    const onEvent = (event: EventView): void => {
      const callState = stateAfter(event);
      const ofCall = [...byId.values()].filter(({ callId }) => callId === event.callId);
      if (callState === undefined || ofCall.length === 0) return;
      for (const approval of ofCall) byId.set(approval.approvalId, { ...approval, callState });
      publish({});
    };
    const stopFollowing = followEvents({ after: 'now', types: executionTypes }, { onEvent, onRestored: reload });
    return () => {
      abort.abort();
      stopListening();
      stopFollowing();
    };
  }, [store]);
  return decided;
}

function latestFirst(a: ApprovalView, b: ApprovalView): number {
  const [first, second] = [a.resolvedAt ?? '', b.resolvedAt ?? ''];
  return Number(first < second) - Number(first > second);
}
