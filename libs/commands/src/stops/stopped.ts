import type { Refusal } from '@countersign/contracts';
import type { Stop } from '@countersign/domain';
import type { CommandPorts } from '../ports.js';
import { stopOf } from './coverage.js';
import type { StoppableCall } from './coverage.js';
import { fileStopId } from './file-stop.js';
import type { Refused } from '../stream/with-tool-call.js';

/** The ports of a command that a stop holds back. */
export type StopPorts = Pick<CommandPorts, 'stops'>;

/** The refusal of a command on a call that a stop covers, by what is known. @throws EventStoreUnavailableError */
export function stopped({ stops }: StopPorts, call: StoppableCall): Refused | undefined {
  const found = stopOf(stops.known(call.tenant), call);
  return found && { status: 'refused', refusal: stoppedRefusal(found) };
}

/** Goes on with the stops of a tenant read just now; a promise only when they must be read first. */
export function whenStopsKnown<T>({ stops }: StopPorts, tenant: string, next: () => T | Promise<T>): T | Promise<T> {
  const found = stops.fresh(tenant);
  // A read that took long is worth nothing: a busy process reads once more before it refuses.
  return found instanceof Promise ? found.then(() => stops.fresh(tenant)).then(next) : next();
}

/** The words of a refusal by a stop: which one, why, and what to do. */
export function stoppedRefusal({ stopId, scope, reason, declaredBy, declaredAt }: Stop): Refusal {
  const remedy =
    stopId === fileStopId
      ? 'the operator removes the file STOP from the data folder'
      : `an admin lifts the stop: countersign resume ${stopId}`;
  const detail = `${declaredBy} stopped ${stoppedCallsWords(scope)} at ${declaredAt}: ${reason}. Wait until ${remedy}`;
  return { code: 'stopped', detail, extra: { stop: { stopId, scope, reason, declaredBy, declaredAt } } };
}

/** The calls that a stop covers, in words. Their tenant is the reader's own, or is not named. */
export function stoppedCallsWords({ agentId, toolName }: Pick<Stop['scope'], 'agentId' | 'toolName'>): string {
  const parts = [
    ...(toolName === null ? [] : [`of the tool "${toolName}"`]),
    ...(agentId === null ? [] : [`of the agent "${agentId}"`]),
  ];
  return parts.length === 0 ? 'all calls' : `the calls ${parts.join(' ')}`;
}
