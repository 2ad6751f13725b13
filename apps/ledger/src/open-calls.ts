import type { EventStore } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';

/** A call of a run that is not settled. */
export interface OpenCall {
  readonly callId: string;
  readonly toolCallId: string;
}

/** The open calls of a run. MUST know every call that was recorded before it was asked. */
export interface OpenCalls {
  /** @throws ViewsBehindError when it cannot tell yet. */
  readonly of: (tenant: string, runId: string) => Promise<readonly OpenCall[]>;
}

/** The views have not reached what is recorded: to be asked again. */
export class ViewsBehindError extends Error {
  override readonly name = 'ViewsBehindError';
}

/** What is needed of a read model: that it can be waited for, and asked. */
export interface CallViews {
  readonly reached: (position: number, signal?: AbortSignal) => Promise<void>;
  readonly openCalls: (
    tenant: string,
    runId: string,
  ) => readonly { readonly request: { readonly callId: string; readonly toolCallId: string } }[];
}

const waitMs = 5_000;

/** The open calls as a replica of the read model shows them, once it has reached the head of the log. */
export function createOpenCalls(ports: {
  readonly store: Pick<EventStore, 'head'>;
  readonly readModel: CallViews;
  readonly clock: Clock;
}): OpenCalls {
  const { store, readModel, clock } = ports;
  return {
    of: async (tenant, runId) => {
      const tooLong = new AbortController();
      const reached = readModel.reached(await store.head(), tooLong.signal).then(
        () => true,
        () => false,
      );
      const waited = new AbortController();
      const isThere = await Promise.race([reached, sleep(clock, waitMs, waited.signal).then(() => false)]);
      waited.abort();
      tooLong.abort();
      if (!isThere) throw new ViewsBehindError('the read model of this process has not reached the head of the log');
      return readModel.openCalls(tenant, runId).map(({ request: { callId, toolCallId } }) => ({ callId, toolCallId }));
    },
  };
}
