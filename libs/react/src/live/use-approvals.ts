import type { ApprovalView } from '@countersign/contracts';
import type { Connection } from '../client/approvals-client.js';
import { usePending } from './use-pending.js';

/** What is pending on this page. */
export interface Approvals {
  readonly approvals: readonly ApprovalView[];
  readonly status: 'loading' | 'ready';
  /** True when more are pending than were read. */
  readonly hasMore: boolean;
  /** `lost`: the last read failed, `signed-out`: nobody is signed in (401). What is shown may be old. */
  readonly connection: Connection;
}

/** The pending approvals of the page, at most 200: the highest risk first, within one the first to expire. */
export function useApprovals(): Approvals {
  const { approvals, status, hasMore, connection } = usePending();
  return { approvals, status, hasMore, connection };
}
