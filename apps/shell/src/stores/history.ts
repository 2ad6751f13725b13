import type { History } from '@countersign/commands';
import type { PlaceInRun } from '@countersign/contracts';
import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';

/** Attack: an agent with thousands of pending calls, all of them compared with each new one. */
const comparedMax = 1000;

/**
 * The recorded history from this process's read model. `waiting`: for a replica, which may lack a call that was requested a
 * moment ago.
 */
export function createHistory(
  readModel: Pick<
    ReadModel,
    'pendingOf' | 'denialsInARow' | 'factsOfRun' | 'callsOfBatch' | 'listApprovals' | 'placeInRun' | 'onApplied'
  >,
  waiting?: { readonly clock: Clock; readonly waitMs: number },
): History {
  return {
    placeInRun: (...of) => readModel.placeInRun(...of) ?? (waiting && placeOnceApplied(readModel, of, waiting)),
    pendingOf: (...of) => readModel.pendingOf(...of),
    denialsInARow: (...of) => readModel.denialsInARow(...of),
    factsOfRun: (...of) => readModel.factsOfRun(...of),
    callsOfBatch: (...of) => readModel.callsOfBatch(...of),
    pendingCalls: (tenant, of) => {
      const page = readModel.listApprovals(tenant, { ...of, limit: comparedMax });
      if (page.status !== 'page' || page.nextCursor !== null) return null;
      return page.rows.map(({ call: { request }, approval: { approvalId } }) => {
        const { callId, toolCallId, arguments: args, sensitive, labels, requestedBy } = request;
        return { callId, toolCallId, approvalId, arguments: args, sensitive, labels, requestedBy };
      });
    },
  };
}

/** Asks again after each change until the call is there, for at most `waitMs`. */
function placeOnceApplied(
  readModel: Pick<ReadModel, 'placeInRun' | 'onApplied'>,
  of: readonly [tenant: string, callId: string],
  { clock, waitMs }: { readonly clock: Clock; readonly waitMs: number },
): Promise<PlaceInRun | undefined> {
  return new Promise((resolve) => {
    const end = (place: PlaceInRun | undefined): void => {
      cancelTimer();
      stopListening();
      resolve(place);
    };
    const stopListening = readModel.onApplied(({ callIds }) => {
      if (callIds.includes(of[1])) end(readModel.placeInRun(...of));
    });
    const cancelTimer = clock.setTimer(waitMs, () => {
      end(undefined);
    });
  });
}
