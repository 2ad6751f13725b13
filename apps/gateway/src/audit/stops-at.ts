import { stopsFor } from '@countersign/commands';
import { isReadable, operatorTenant, stopStream } from '@countersign/contracts';
import type { LogEvent, StopEvent, StopView } from '@countersign/contracts';
import { isInForce, stopDecider } from '@countersign/domain';
import type { Stop } from '@countersign/domain';
import { toStopView } from '../stops.js';

/** The stops that were in force for a tenant, by the events of the streams as they were then. The file `STOP` is in no log. */
export async function stopsAt(
  tenant: string,
  eventsOf: (stream: string) => Promise<readonly LogEvent[]>,
): Promise<readonly StopView[]> {
  const stopsOf = async (one: string): Promise<readonly Stop[]> =>
    (await eventsOf(stopStream(one)))
      .filter(isReadable)
      .reduce(
        (stops, { type, data }) => stopDecider.evolve(stops, { type, data } as StopEvent),
        stopDecider.initialState(),
      ).stops;
  const stops = stopsFor(tenant, await stopsOf(tenant), await stopsOf(operatorTenant));
  return stops.filter(isInForce).map(toStopView);
}
