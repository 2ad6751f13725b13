import type { ApprovalView } from '@countersign/contracts';
import type { Client } from '@countersign/worker-sdk';

/** Tells a client that was sent to a card when the approval is decided. */
export interface CardWatch {
  readonly watch: (approval: ApprovalView) => void;
  readonly close: () => void;
}

/** The server ends a longer wait by itself. */
const waitMs = 50_000;
/** Each watch is a waiting read, and the server limits those of a principal. */
const watchedMax = 32;

/** @param decided called once per approval that is decided, expired or cancelled, with its id. */
export function createCardWatch(client: Pick<Client, 'getToolCall'>, decided: (approvalId: string) => void): CardWatch {
  const watched = new Set<string>();
  const closed = new AbortController();
  const untilDecided = async ({ callId, approvalId }: ApprovalView): Promise<void> => {
    for (;;) {
      const options = { waitMs, until: 'decided', signal: closed.signal } as const;
      const { approval, state } = await client.getToolCall(callId, options);
      if (state !== 'awaiting_approval' || approval?.approvalId !== approvalId) return;
    }
  };
  return {
    watch: (approval) => {
      const { approvalId } = approval;
      if (watched.has(approvalId) || watched.size >= watchedMax) return;
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
