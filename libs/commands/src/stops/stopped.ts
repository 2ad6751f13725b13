import { stoppedBy } from '@countersign/domain';
import { stopsOver } from './coverage.js';
import type { StoppableCall } from './coverage.js';
import type { CommandPorts } from '../ports.js';
import type { Refused } from '../stream/with-tool-call.js';

/** The ports of a command that a stop holds back. */
export type StopPorts = Pick<CommandPorts, 'stops'>;

/** The refusal of a command on a call that a stop covers, by what is known. @throws EventStoreUnavailableError */
export function stopped({ stops }: StopPorts, call: StoppableCall): Refused | undefined {
  const refusal = stoppedBy(stopsOver(stops.known(call.tenant), call));
  return refusal && { status: 'refused', refusal };
}

/** Goes on with the stops of a tenant read just now; a promise only when they must be read first. */
export function whenStopsKnown<T>({ stops }: StopPorts, tenant: string, next: () => T | Promise<T>): T | Promise<T> {
  const found = stops.fresh(tenant);
  // A read that took long is worth nothing: a busy process reads once more before it refuses.
  return found instanceof Promise ? found.then(() => stops.fresh(tenant)).then(next) : next();
}
