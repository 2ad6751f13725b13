import { setTimeout as delay } from 'node:timers/promises';
import type { ApprovalView, LogEventView } from '@countersign/contracts';
import { CliError } from '../cli-error.js';
import type { ApprovalFilters } from '../commands/list.js';
import { approvalPages } from '../commands/list.js';
import { followEvents, isOfOlderLog } from '../connection/event-stream.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import { exitCodes } from '../exit-codes.js';

/** The page size. More is loaded as these are decided. */
const loadedMax = 500;
/** Events come in bursts. One read of each approval after the burst is enough. */
const settleMs = 60;
/** Beyond this many changed approvals, the list is read again as a whole. */
const singlesMax = 20;
const retryDelayMs = 1000;
const passing: readonly number[] = [exitCodes.unreachable, exitCodes.notReady, exitCodes.notFound];

const relevant = [
  'ApprovalRequested',
  'ApprovalResponded',
  'ResponseWithdrawn',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ToolCallCancelled',
  // Every event that the server cannot read.
  'unreadable',
].join(',');
/** An event of these types that cannot be read concerns more than one call. */
const forbidding: readonly string[] = ['PolicyActivated', 'RunCancelled'];

/** The messages from the feed to the inbox. */
export interface FeedListener {
  readonly loaded: (approvals: readonly ApprovalView[], hasMore: boolean) => void;
  readonly changed: (approval: ApprovalView) => void;
  readonly connection: (connection: 'live' | 'lost') => void;
  /** The log was put back to an older state, and the list was read again from it. */
  readonly restored: () => void;
}

/** The approvals that wait, loaded and then kept up to date by the event stream. */
export interface PendingFeed {
  /** Reads the list. Returns the position from which `follow` continues. */
  readonly load: () => Promise<number>;
  /**
   * Reports every change until the signal aborts. Reconnects when the connection is lost. Throws when the server
   * refuses, for example a revoked token.
   */
  readonly follow: (after: number, signal: AbortSignal) => Promise<void>;
  /** Reads one approval again. */
  readonly refresh: (approvalId: string) => Promise<void>;
}

/** A feed of the pending approvals that pass the filters. */
export function createPendingFeed(client: LedgerClient, filters: ApprovalFilters, listener: FeedListener): PendingFeed {
  /** The calls of the approvals that were shown, by approval. */
  const callOf = new Map<string, string>();
  const hasFilters = Object.values(filters).some((filter) => filter !== undefined);
  const load = async (): Promise<number> => {
    const approvals: ApprovalView[] = [];
    let position: number | undefined;
    let hasMore = false;
    for await (const page of approvalPages(client, { ...filters, state: 'pending', sort: 'risk' }, loadedMax)) {
      // The first of several pages was read first. Changes since then are reported a second time, which does no harm.
      position ??= page.position;
      approvals.push(...page.approvals);
      hasMore = page.nextCursor !== null;
    }
    callOf.clear();
    for (const { approvalId, callId } of approvals) callOf.set(approvalId, callId);
    listener.loaded(approvals, hasMore);
    return position ?? 0;
  };
  const refresh = async (approvalId: string, position?: number): Promise<void> => {
    const headers = position === undefined ? {} : { 'countersign-position': String(position) };
    const approval = await client.get<ApprovalView>(`/v1/approvals/${encodeURIComponent(approvalId)}`, { headers });
    if (approval.state === 'pending') callOf.set(approvalId, approval.callId);
    else callOf.delete(approvalId);
    listener.changed(approval);
  };
  /** The approvals that an event is about. When the event cannot be read, none of them may be decided. */
  const concerned = ({ data, callId, type }: LogEventView): readonly string[] => {
    if (data !== null) return typeof data['approvalId'] === 'string' ? [data['approvalId']] : [];
    if (callId === null) return forbidding.includes(type) ? [...callOf.keys()] : [];
    return [...callOf].flatMap(([approvalId, of]) => (of === callId ? [approvalId] : []));
  };
  return {
    load,
    refresh,
    follow: async (after, signal) => {
      const changes = createChanges();
      const failed = new AbortController();
      const all = AbortSignal.any([signal, failed.signal]);
      all.addEventListener('abort', changes.wake, { once: true });
      const look = async (): Promise<void> => {
        const { ids, position } = changes.take();
        // An approval does not name the groups of the reader, so only the server knows whether a new one matches.
        if (ids.length > singlesMax || (hasFilters && ids.length > 0)) await load();
        else for (const id of ids) await refresh(id, position);
      };
      const looking = async (): Promise<void> => {
        while (!all.aborted) {
          await changes.next();
          await delay(settleMs, undefined, { signal: all }).catch(() => undefined);
          await untilSeen(look, load, all);
        }
      };
      const stopOther = (): void => failed.abort();
      const beginAgain = async (): Promise<number> => {
        let position = 0;
        const read = async (): Promise<void> => void (position = await load());
        await untilSeen(read, read, all);
        listener.restored();
        return position;
      };
      const listening = async (from: number): Promise<void> => {
        try {
          await listen(client, { after: from, signal: all, concerned }, changes, listener);
        } catch (error) {
          if (!isOfOlderLog(error)) throw error;
          await listening(await beginAgain());
        }
      };
      await Promise.all([listening(after).finally(stopOther), looking().finally(stopOther)]);
    },
  };
}

async function listen(
  client: LedgerClient,
  { after, signal, concerned }: Listening,
  changes: Changes,
  listener: FeedListener,
): Promise<void> {
  const onConnection = (lost: CliError | undefined): void => listener.connection(lost === undefined ? 'live' : 'lost');
  for await (const event of followEvents(client, { after, types: relevant, signal, isKnown: true, onConnection }))
    changes.add(concerned(event), event.position);
}

interface Listening {
  readonly after: number;
  readonly signal: AbortSignal;
  readonly concerned: (event: LogEventView) => readonly string[];
}

/** A read that fails during a short outage, or after the log was restored, is repeated when the list is read again. */
async function untilSeen(look: () => Promise<void>, load: () => Promise<unknown>, signal: AbortSignal): Promise<void> {
  let attempt: () => Promise<unknown> = look;
  while (!signal.aborted) {
    try {
      await attempt();
      return;
    } catch (error) {
      const isPassing = error instanceof CliError && passing.includes(error.exitCode);
      if (!isPassing && !isOfOlderLog(error)) throw error;
      attempt = load;
      await delay(retryDelayMs, undefined, { signal }).catch(() => undefined);
    }
  }
}

interface Changes {
  readonly add: (approvalIds: readonly string[], position: number) => void;
  readonly take: () => { readonly ids: readonly string[]; readonly position: number };
  /** Resolves when a message is available, or at `wake`. */
  readonly next: () => Promise<void>;
  readonly wake: () => void;
}

function createChanges(): Changes {
  const ids = new Set<string>();
  let position = 0;
  let waiting = (): void => undefined;
  return {
    add: (approvalIds, at) => {
      if (approvalIds.length === 0) return;
      for (const approvalId of approvalIds) ids.add(approvalId);
      position = at;
      waiting();
    },
    take: () => {
      const taken = [...ids];
      ids.clear();
      return { ids: taken, position };
    },
    next: () =>
      new Promise((resolve) => {
        if (ids.size > 0) resolve();
        else waiting = resolve;
      }),
    wake: () => waiting(),
  };
}
