import { createContext, useContext, useSyncExternalStore } from 'react';
import type { ApprovalView, DecisionType } from '@countersign/contracts';
import type { PendingStore } from './pending-store.js';

/** A decision that waits a few seconds before it is sent, so that the person can take it back. Nothing is recorded yet. */
export interface HeldDecision {
  readonly approval: ApprovalView;
  readonly type: DecisionType;
  /** When it is sent, by this browser's clock; undefined: it is on its way. */
  readonly dueMs: number | undefined;
}

/** A decision that was held and then not recorded. */
export interface MissedDecision {
  readonly approval: ApprovalView;
  readonly type: DecisionType;
  /** Why, in words. */
  readonly words: string;
}

/** What is held and what was missed. */
export interface OutboxState {
  readonly held: readonly HeldDecision[];
  readonly missed: readonly MissedDecision[];
}

/** A decision, and how it is sent. */
export interface Holding {
  readonly approval: ApprovalView;
  readonly type: DecisionType;
  /** Sends it and reports the result. `isLeaving`: the page may end now. Returns why it was not recorded, or nothing. */
  readonly send: (isLeaving: boolean) => Promise<string>;
}

/** The decisions that are not sent yet. */
export interface Outbox {
  readonly state: () => OutboxState;
  readonly subscribe: (listener: () => void) => () => void;
  /** Holds a decision. Returns false where it has to be sent at once: there is no time to lose, or none is wanted. */
  readonly hold: (holding: Holding) => boolean;
  readonly undo: (approvalId: string) => void;
  /** Sends what is held. Resolves when each has its result. */
  readonly flush: (options?: { readonly isLeaving?: boolean; readonly approvalId?: string }) => Promise<void>;
  /** Forgets what was missed. */
  readonly dismiss: (approvalId: string) => void;
  /** Watches what becomes of the approvals. Returns a function that ends it, and drops what is held. */
  readonly start: () => () => void;
}

/** An approval that ends within this time is decided at once. The clocks of browser and server may differ. */
const deadlineMarginMs = 30_000;

/** Later than this after its time it is not sent: the device slept, and the person has gone on. */
const lateMaxMs = 60_000;

interface Entry extends Holding {
  readonly dueMs: number | undefined;
  readonly timer: ReturnType<typeof setTimeout> | undefined;
  /** What the list showed when it was held: it may be behind the card. */
  readonly listed: string | undefined;
}

const changedWords = 'It changed before your answer was sent. Nothing was sent: look at it again.';
const lateWords = 'Your device paused before your answer was sent. Nothing was sent: look at it again.';
const endedWords = 'It ended before your answer was sent. Nothing of yours was sent.';

/**
 * An outbox over the pending approvals.
 * @param delayMs how long a decision is held; 0: not at all
 */
export function createOutbox(store: PendingStore, delayMs: () => number): Outbox {
  const listeners = new Set<() => void>();
  const entries = new Map<string, Entry>();
  let missed: readonly MissedDecision[] = [];
  let state: OutboxState = { held: [], missed };
  const tell = (): void => {
    state = { held: [...entries.values()].map(({ approval, type, dueMs }) => ({ approval, type, dueMs })), missed };
    for (const listener of listeners) listener();
  };
  const drop = (approvalId: string): void => {
    clearTimeout(entries.get(approvalId)?.timer);
    entries.delete(approvalId);
  };
  const miss = ({ approval, type }: Entry, words: string): void => {
    missed = [...missed.filter((one) => one.approval.approvalId !== approval.approvalId), { approval, type, words }];
  };
  const dropMissed = (entry: Entry, words: string): void => {
    drop(entry.approval.approvalId);
    miss(entry, words);
    tell();
  };

  const send = async (approvalId: string, isLeaving: boolean): Promise<void> => {
    const entry = entries.get(approvalId);
    if (entry?.dueMs === undefined) return;
    if (Date.now() - entry.dueMs > lateMaxMs) {
      dropMissed(entry, lateWords);
      return;
    }
    clearTimeout(entry.timer);
    const sent = { ...entry, dueMs: undefined, timer: undefined };
    entries.set(approvalId, sent);
    tell();
    const words = await entry.send(isLeaving);
    if (words !== '') miss(entry, words);
    if (entries.get(approvalId) === sent) entries.delete(approvalId);
    tell();
  };

  /** Nothing is sent for what the person did not see. */
  const look = (): void => {
    for (const [approvalId, entry] of entries) {
      const now = store.state().byId.get(approvalId)?.shownDigest;
      const isAsSeen = now === undefined || now === entry.approval.shownDigest || now === entry.listed;
      if (entry.dueMs === undefined || isAsSeen) continue;
      dropMissed(entry, changedWords);
    }
  };

  return {
    state: () => state,
    subscribe: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    hold: (holding) => {
      const { approvalId, expiresAt } = holding.approval;
      const waitMs = delayMs();
      const leftMs = expiresAt === null ? Number.POSITIVE_INFINITY : Date.parse(expiresAt) - Date.now();
      if (waitMs === 0 || leftMs < waitMs + deadlineMarginMs || entries.has(approvalId)) return false;
      const timer = setTimeout(() => void send(approvalId, false), waitMs);
      const listed = store.state().byId.get(approvalId)?.shownDigest;
      entries.set(approvalId, { ...holding, dueMs: Date.now() + waitMs, timer, listed });
      missed = missed.filter((one) => one.approval.approvalId !== approvalId);
      tell();
      return true;
    },
    undo: (approvalId) => {
      if (entries.get(approvalId)?.dueMs === undefined) return;
      drop(approvalId);
      tell();
    },
    flush: async ({ isLeaving = false, approvalId } = {}) => {
      const ids = approvalId === undefined ? [...entries.keys()] : [approvalId];
      await Promise.all(ids.map((id) => send(id, isLeaving)));
    },
    dismiss: (approvalId) => {
      missed = missed.filter((one) => one.approval.approvalId !== approvalId);
      tell();
    },
    start: () => {
      const stopLooking = store.subscribe(look);
      const stopListening = store.onEnded((approvalId) => {
        const entry = entries.get(approvalId);
        if (entry?.dueMs !== undefined) dropMissed(entry, endedWords);
      });
      return () => {
        stopLooking();
        stopListening();
        for (const approvalId of [...entries.keys()]) drop(approvalId);
        tell();
      };
    },
  };
}

/** The outbox of the page; undefined: every decision is sent at once. */
export const OutboxContext = createContext<Outbox | undefined>(undefined);

/** The outbox of the page. */
export function useOutbox(): Outbox | undefined {
  return useContext(OutboxContext);
}

const nothing: OutboxState = { held: [], missed: [] };
const never = (): (() => void) => () => undefined;

/** What is held and what was missed on this page. */
export function useOutboxState(): OutboxState {
  const outbox = useOutbox();
  return useSyncExternalStore(outbox?.subscribe ?? never, () => outbox?.state() ?? nothing);
}
