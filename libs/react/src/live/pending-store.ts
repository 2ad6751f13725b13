import type { ApprovalView, EventView } from '@countersign/contracts';
import type { ApprovalsClient, Connection, EventFeed } from '../client/approvals-client.js';
import type { ApprovalPage } from '../client/approvals.js';
import { listApprovals, readApproval } from '../client/approvals.js';
import { deliveryTypes } from '../client/event-types.js';
import { isPassing } from '../client/problem.js';
import { createAudience } from './audience.js';

/** The approvals that wait, in the order in which they were read. */
export interface PendingState {
  readonly approvals: readonly ApprovalView[];
  readonly byId: ReadonlyMap<string, ApprovalView>;
  readonly status: 'loading' | 'ready';
  /** True when there are more pending approvals than are loaded. */
  readonly hasMore: boolean;
  readonly connection: Connection;
  /** The server was restored from a backup a moment ago, while the page was open. */
  readonly isRestored: boolean;
}

/** The pending approvals, loaded and then kept up to date by the event stream. */
export interface PendingStore {
  readonly state: () => PendingState;
  readonly subscribe: (listener: () => void) => () => void;
  /** Receives the id of every approval that ended. */
  readonly onEnded: (listener: (approvalId: string) => void) => () => void;
  /** Receives the id of every approval with a new delivery. */
  readonly onDelivery: (listener: (approvalId: string) => void) => () => void;
  /** Applies the approval of a response. */
  readonly apply: (approval: ApprovalView) => void;
  readonly start: () => () => void;
}

/** A client that tells what happens. */
export interface FollowingClient extends ApprovalsClient {
  readonly events: EventFeed;
}

/** Small, so that the first cards appear at once. */
const firstPageSize = 100;
const pageSize = 1000;
/** The limit of loaded approvals: a phone's memory is finite. */
const loadedMax = 20_000;
/** Events come in bursts. One read after the burst is enough. */
const settleMs = 25;
/** Beyond this many changes at once, the whole list is read again. */
const singlesMax = 40;
const retryMs = 2000;
/** How long the page says that the server was restored. */
const restoredMs = 60_000;

const asked = ['ApprovalRequested', 'ResponseWithdrawn', 'ApprovalEscalated'];
const ended = ['ApprovalExpired', 'ToolCallCancelled'];
const forbidding = ['PolicyActivated', 'RunCancelled'];
const delivered: readonly string[] = deliveryTypes;
const types = [...asked, ...ended, 'ApprovalResponded', ...deliveryTypes];

const nothingYet = {
  approvals: [],
  status: 'loading',
  hasMore: false,
  connection: 'connecting',
  isRestored: false,
} as const;

/** A store of the pending approvals; nothing happens before `start`. */
export function createPendingStore(client: FollowingClient): PendingStore {
  const changed = createAudience<undefined>();
  const ends = createAudience<string>();
  const deliveries = createAudience<string>();
  let byId = new Map<string, ApprovalView>();
  let state: PendingState = { ...nothingYet, byId };
  let readAgain: Changes['add'] = () => undefined;
  const change = (part: Partial<PendingState>): void => {
    state = { ...state, ...part };
    changed.tell(undefined);
  };
  const publish = (): void => {
    byId = new Map(byId);
    change({ approvals: [...byId.values()], byId });
  };
  const put = (approval: ApprovalView): void => {
    if (approval.state === 'pending') byId.set(approval.approvalId, approval);
    else byId.delete(approval.approvalId);
  };
  const end = (approvalId: string): void => {
    if (byId.delete(approvalId)) publish();
    ends.tell(approvalId);
  };
  const apply = (approval: ApprovalView): void => {
    if (approval.state === 'pending') {
      put(approval);
      publish();
      readAgain(approval.approvalId);
    } else end(approval.approvalId);
  };

  const start = (): (() => void) => {
    const stopped = new AbortController();
    let stopFollowing: (() => void) | undefined;
    const changes = createChanges(client, stopped.signal, { put, publish, load: () => load() });
    readAgain = changes.add;
    let loading: Promise<unknown> = Promise.resolve();
    const load = (): Promise<unknown> => (loading = loading.then(() => loadAll(stopped.signal)));
    // Before there is a stream that could say so.
    const onMissed = (): void => {
      if (stopFollowing === undefined) change({ connection: 'lost' });
    };
    const loadAll = async (signal: AbortSignal): Promise<void> => {
      const loaded = new Map<string, ApprovalView>();
      const endedMeanwhile = new Set<string>();
      const stopListening = ends.listen((id) => endedMeanwhile.add(id));
      let cursor: string | null = null;
      do {
        const page: ApprovalPage | undefined = await readPage(client, cursor, signal, onMissed);
        if (page === undefined) break;
        // The first of several pages is the oldest. Changes since then are reported a second time, which does no harm.
        if (cursor === null) stopFollowing ??= follow(page.position);
        cursor = page.nextCursor;
        for (const approval of page.approvals) loaded.set(approval.approvalId, approval);
        for (const id of endedMeanwhile) loaded.delete(id);
        showLoaded(loaded, cursor !== null);
      } while (cursor !== null && loaded.size < loadedMax);
      stopListening();
    };
    const showLoaded = (loaded: ReadonlyMap<string, ApprovalView>, hasMore: boolean): void => {
      // The first page is shown at once. A later read replaces the list only as a whole.
      if (hasMore && loaded.size < loadedMax && state.status === 'ready') return;
      byId = new Map(loaded);
      change({ approvals: [...byId.values()], byId, status: 'ready', hasMore });
    };
    const follow = (after: number): (() => void) =>
      client.events.follow(
        { after, types },
        {
          onEvent: (event) => {
            const { approvalId } = event.data;
            if (typeof approvalId !== 'string') return;
            for (const id of releasedWith(byId, event)) changes.add(id, event.position);
            if (delivered.includes(event.type)) deliveries.tell(approvalId);
            else if (isEnd(event)) end(approvalId);
            else changes.add(approvalId, event.position);
          },
          // Nobody may decide on it now: its buttons go away. A policy or a cancellation is about more than one call.
          onUnreadable: ({ callId, position, type }) => {
            if (callId === null && forbidding.includes(type)) void load();
            for (const one of byId.values()) if (one.callId === callId) changes.add(one.approvalId, position);
          },
          onConnection: (connection) => change({ connection }),
          onRestored: () => {
            change({ isRestored: true });
            setTimeout(() => change({ isRestored: false }), restoredMs);
            void load();
          },
          // Returns 401 when the session has ended, which the caller reports.
          onRefused: () => void listApprovals(client, 'pending', { order: 'oldest', limit: 1 }).catch(ignore),
        },
      );
    void load();
    return () => {
      stopped.abort();
      stopFollowing?.();
    };
  };

  return {
    state: () => state,
    ...{ subscribe: changed.listen, onEnded: ends.listen, onDelivery: deliveries.listen },
    apply,
    start,
  };
}

function readPage(
  client: ApprovalsClient,
  cursor: string | null,
  signal: AbortSignal,
  onMissed: () => void,
): Promise<ApprovalPage | undefined> {
  const limit = cursor === null ? firstPageSize : pageSize;
  return patiently(
    signal,
    () => listApprovals(client, 'pending', { order: 'oldest', cursor, limit, signal }),
    onMissed,
  );
}

/** Whether an event ends its approval. After other events the approval is read. */
function isEnd({ type, data }: EventView): boolean {
  return ended.includes(type) || (type === 'ApprovalResponded' && data['resolution'] !== 'pending');
}

/** The approvals that release the call of an event too, where it may have changed that call. */
function releasedWith(byId: ReadonlyMap<string, ApprovalView>, { type, callId }: EventView): readonly string[] {
  if (callId === null || (type !== 'ApprovalResponded' && !asked.includes(type))) return [];
  return [...byId.values()].flatMap(({ approvalId, shownOthersDigest, batch, callId: own }) =>
    shownOthersDigest !== undefined && own !== callId && batch?.callIds.includes(callId) === true ? [approvalId] : [],
  );
}

interface Changes {
  /**
   * `position`: where the log has the change. Default: not known. So it is after a response of the person's own, which may
   * come later than the news of what another person did since.
   */
  readonly add: (approvalId: string, position?: number) => void;
}

/** Reads each changed approval once, after the burst of events. */
function createChanges(
  client: ApprovalsClient,
  signal: AbortSignal,
  list: { put: (approval: ApprovalView) => void; publish: () => void; load: () => Promise<unknown> },
): Changes {
  const ids = new Set<string>();
  let position = 0;
  let isLooking = false;
  const look = async (): Promise<void> => {
    while (ids.size > 0 && !signal.aborted) {
      const taken = [...ids];
      const seen = position;
      ids.clear();
      if (taken.length > singlesMax) await list.load();
      else {
        const read = await Promise.all(taken.map((id) => patiently(signal, () => readApproval(client, id, seen))));
        for (const approval of read) if (approval !== undefined) list.put(approval);
        list.publish();
      }
    }
    isLooking = false;
  };
  return {
    add: (approvalId, at) => {
      ids.add(approvalId);
      position = at ?? position;
      if (isLooking) return;
      isLooking = true;
      setTimeout(() => void look(), settleMs);
    },
  };
}

/** Retries until the server responds. Returns undefined when the component is gone or the server refuses. */
async function patiently<T>(
  signal: AbortSignal,
  ask: () => Promise<T>,
  onMissed: () => void = () => undefined,
): Promise<T | undefined> {
  while (!signal.aborted) {
    try {
      return await ask();
    } catch (error) {
      if (!isPassing(error)) return undefined;
      onMissed();
      await new Promise((resolve) => setTimeout(resolve, retryMs));
    }
  }
  return undefined;
}

function ignore(): void {
  // The server is away: the stream tries again.
}
