import { useEffect, useRef } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { readApproval } from '../client/approvals.js';
import type { Problem } from '../client/problem.js';
import { useClient } from '../live/use-client.js';
import { repeatWhileVisible } from '../live/repeat.js';
import { useLoaded } from '../live/use-loaded.js';
import { usePending, usePendingStore } from '../live/use-pending.js';

const everyMs = 3000;

/** One approval in any state. */
export interface ShownApproval {
  readonly approval: ApprovalView | undefined;
  readonly problem: Problem | undefined;
}

/**
 * One approval: from the pending list if it is there, otherwise read by its id. It stays on the page when it ends, so
 * that the card does not change while a person is about to press.
 */
export function useApproval(approvalId: string): ShownApproval {
  const client = useClient();
  const { byId } = usePending();
  const store = usePendingStore();
  const { pending, key } = wholeOf(approvalId, byId.get(approvalId));
  const { value, problem, reload } = useLoaded(key, () =>
    pending === undefined ? readApproval(client, approvalId) : Promise.resolve(pending),
  );
  useReadAgain(pending === undefined && value?.state === 'pending', reload);
  const last = useRef(pending);
  if (pending !== undefined) last.current = pending;
  else if (value?.state === 'pending') last.current = value;
  useEffect(() => store.onEnded((id) => id === approvalId && reload()), [store, approvalId, reload]);
  // The read may be newer than the list: the approval may have ended while the list was loading.
  const isRead = value !== undefined && (pending === undefined || value.state !== 'pending');
  return { approval: isRead ? value : (pending ?? last.current), problem };
}

/** An approval that is not in the list of the page is read again by itself, where no stream tells of it. */
function useReadAgain(isAlone: boolean, reload: () => void): void {
  const isAsked = useClient().events === undefined && isAlone;
  useEffect(() => (isAsked ? repeatWhileVisible(everyMs, reload) : undefined), [isAsked, reload]);
}

/** A preview is for the list: the card shows the whole, which is read, or nothing yet. */
function wholeOf(
  approvalId: string,
  listed: ApprovalView | undefined,
): { readonly pending: ApprovalView | undefined; readonly key: string } {
  if (listed === undefined) return { pending: undefined, key: `${approvalId} read` };
  if (listed.isPreview === true)
    return { pending: undefined, key: `${approvalId} read ${listed.shownDigest} ${listed.mayDecide?.now}` };
  return { pending: listed, key: `${approvalId} pending` };
}
