import type { ApprovalView } from '@countersign/contracts';
import type { ApprovalsClient } from '../client/approvals-client.js';
import { listApprovals } from '../client/approvals.js';
import type { Filter } from '../client/approvals.js';
import { problemOf } from '../client/problem.js';
import { createAudience } from './audience.js';
import type { PendingState, PendingStore } from './pending-store.js';
import { repeatWhileVisible } from './repeat.js';

/** A list of a page is short: the highest risks are in it. More are named by `hasMore`. */
const loadedMax = 200;

const nothingYet = {
  approvals: [],
  status: 'loading',
  hasMore: false,
  connection: 'connecting',
  isRestored: false,
} as const;

/** A store of the pending approvals that match, read again every few seconds while the page is visible. */
export function createPolledStore(client: ApprovalsClient, filter: Filter, everyMs: number): PendingStore {
  const changed = createAudience<undefined>();
  const ends = createAudience<string>();
  let state: PendingState = { ...nothingYet, byId: new Map() };
  let look: () => void = () => undefined;
  const change = (part: Partial<PendingState>): void => {
    state = { ...state, ...part };
    changed.tell(undefined);
  };
  const show = (approvals: readonly ApprovalView[], hasMore: boolean): void => {
    const before = state.byId;
    const byId = new Map(approvals.map((one) => [one.approvalId, one] as const));
    change({ approvals, byId, hasMore, status: 'ready', connection: 'live' });
    for (const id of before.keys()) if (!byId.has(id)) ends.tell(id);
  };

  const start = (): (() => void) => {
    const stopped = new AbortController();
    const { signal } = stopped;
    let reading: Promise<void> | undefined;
    let isAgain = false;
    const read = async (): Promise<void> => {
      try {
        const wanted = { order: 'oldest', sort: 'risk', limit: loadedMax, filter, signal } as const;
        const page = await listApprovals(client, 'pending', wanted);
        if (!signal.aborted && !isAgain) show(page.approvals, page.nextCursor !== null);
      } catch (error) {
        const isSignedOut = problemOf(error).status === 401;
        if (!signal.aborted) change({ connection: isSignedOut ? 'signed-out' : 'lost' });
      }
      reading = undefined;
      if (isAgain && !signal.aborted) {
        isAgain = false;
        reading = read();
      }
    };
    look = () => {
      // What is being read may be older than what asks for it.
      if (reading === undefined) reading = read();
      else isAgain = true;
    };
    look();
    const stop = repeatWhileVisible(everyMs, () => {
      reading ??= read();
    });
    return () => {
      stopped.abort();
      stop();
    };
  };

  return {
    state: () => state,
    subscribe: changed.listen,
    onEnded: ends.listen,
    onDelivery: () => () => undefined,
    apply: (approval) => {
      const { approvalId } = approval;
      const others = state.approvals.filter((one) => one.approvalId !== approvalId);
      if (approval.state === 'pending') {
        const at = state.approvals.findIndex((one) => one.approvalId === approvalId);
        show(at < 0 ? [...others, approval] : state.approvals.with(at, approval), state.hasMore);
      } else {
        show(others, state.hasMore);
        ends.tell(approvalId);
      }
      look();
    },
    start,
  };
}
