import type { History } from '@countersign/commands';
import type { ReadModel } from '@countersign/read-model';

/** Attack: an agent with thousands of pending calls, all of them compared with each new one. */
const comparedMax = 1000;

/** The recorded history from this process's read model. */
export function createHistory(
  readModel: Pick<ReadModel, 'pendingOf' | 'denialsInARow' | 'factsOfRun' | 'callsOfBatch' | 'listApprovals'>,
): History {
  return {
    pendingOf: (...of) => readModel.pendingOf(...of),
    denialsInARow: (...of) => readModel.denialsInARow(...of),
    factsOfRun: (...of) => readModel.factsOfRun(...of),
    callsOfBatch: (...of) => readModel.callsOfBatch(...of),
    pendingCalls: (tenant, of) => {
      const page = readModel.listApprovals(tenant, { ...of, limit: comparedMax });
      if (page.status !== 'page' || page.nextCursor !== null) return null;
      return page.rows.map(({ call: { request }, approval: { approvalId } }) => {
        const { callId, toolCallId, arguments: args, sensitive, requestedBy } = request;
        return { callId, toolCallId, approvalId, arguments: args, sensitive, requestedBy };
      });
    },
  };
}
