import type { ApprovalView } from '@countersign/contracts';
import type { Client } from '@countersign/worker-sdk';

/** Tells a client that was sent to a card when the approval is decided. */
export interface CardWatch {
  readonly watch: (approval: ApprovalView) => void;
  readonly close: () => void;
}

/** The server ends a longer wait by itself. */
const waitMs = 50_000;
/** Each card needs a waiting read, and the server limits those of a principal. */
const readsMax = 32;

/** @param decided called once per approval that is decided, expired or cancelled, with its id. */
export function createCardWatch(client: Pick<Client, 'getToolCall'>, decided: (approvalId: string) => void): CardWatch {
  const watched = new Set<string>();
  const closed = new AbortController();
  const inTurn = createTurns(readsMax);
  const untilDecided = async ({ callId, approvalId }: ApprovalView): Promise<void> => {
    // Countersign may restart meanwhile.
    const options = { waitMs, until: 'decided', signal: closed.signal, attempts: Infinity } as const;
    for (;;) {
      const { approval, state } = await inTurn(() => client.getToolCall(callId, options));
      if (state !== 'awaiting_approval' || approval?.approvalId !== approvalId) return;
    }
  };
  return {
    watch: (approval) => {
      const { approvalId } = approval;
      if (watched.has(approvalId)) return;
      watched.add(approvalId);
      untilDecided(approval)
        .then(() => {
          decided(approvalId);
        })
        // The notification is a service: without it the client calls again by itself.
        .catch(() => undefined)
        .finally(() => watched.delete(approvalId));
    },
    close: () => {
      closed.abort(new Error('the gate is closed'));
    },
  };
}

/** At most this number of reads at once. The others wait, and each gets its turn: a read takes at most `waitMs`. */
function createTurns(max: number): <T>(read: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let free = max;
  return async (read) => {
    if (free > 0) free -= 1;
    else await new Promise<void>((resolve) => waiting.push(resolve));
    try {
      return await read();
    } finally {
      const next = waiting.shift();
      if (next === undefined) free += 1;
      else next();
    }
  };
}
