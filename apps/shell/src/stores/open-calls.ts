import type { OpenCall, OpenCalls, OpenCallsInside, OpenCallsOfRun } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import type { Clock } from '@countersign/runtime';
import { reachedWithin } from './reached-within.js';
import type { Reachable } from './reached-within.js';

/** The views have not reached what is recorded: to be asked again. */
export class ViewsBehindError extends Error {
  override readonly name = 'ViewsBehindError';
}

/** The read model as this process needs it: queries, and waiting for a position. */
export interface CallViews extends Reachable {
  readonly openCallsOfRun: (tenant: string, runId: string) => Omit<OpenCallsOfRun, 'grants'>;
  readonly grants: { readonly ofRun: (tenant: string, runId: string, atMs: number) => OpenCallsOfRun['grants'] };
  readonly openCallsInside: (tenant: string, callId: string) => readonly OpenCall[];
}

const waitMs = 5_000;

/** The open calls as a replica of the read model shows them, once it has reached the head of the log. */
export function createOpenCalls(ports: {
  readonly store: Pick<EventStore, 'head'>;
  readonly readModel: CallViews;
  readonly clock: Clock;
}): OpenCalls & OpenCallsInside {
  const { store, readModel, clock } = ports;
  const untilWhole = async (): Promise<void> => {
    if (await reachedWithin(readModel, clock, await store.head(), waitMs)) return;
    throw new ViewsBehindError('the read model of this process has not reached the head of the log');
  };
  return {
    of: async (tenant, runId) => {
      await untilWhole();
      return {
        ...readModel.openCallsOfRun(tenant, runId),
        grants: readModel.grants.ofRun(tenant, runId, clock.now()),
      };
    },
    inside: async (tenant, callId) => {
      await untilWhole();
      return readModel.openCallsInside(tenant, callId);
    },
  };
}
