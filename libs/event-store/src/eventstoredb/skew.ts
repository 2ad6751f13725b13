import type { Log } from '@countersign/runtime';
import type { RecordedEvent } from '@countersign/contracts';

/** The difference between the server's clock and ours that is logged. */
const skewMsMax = 2000;
const skewedInARow = 3;

/** When an append was sent and acknowledged, by this machine's clock. */
export interface AppendTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Compares the server's clock with ours at each new event: one sets deadlines, the other records them. Events from an
 * earlier try or from another process are ignored: their position is not after the known ones.
 */
export function createSkewWatch(log: Log): (events: readonly RecordedEvent[], times: AppendTimes) => void {
  let inARow = 0;
  let newest = 0;
  return ([event], { sentAt, answeredAt }) => {
    if (event === undefined || event.position <= newest) return;
    newest = event.position;
    const recordedAt = Date.parse(event.recordedAt);
    const skewMs = recordedAt > answeredAt ? recordedAt - answeredAt : Math.min(0, recordedAt - sentAt);
    inARow = Math.abs(skewMs) > skewMsMax ? inARow + 1 : 0;
    if (inARow === skewedInARow) log.warn({ skewMs }, "the event store's clock and this machine's differ");
  };
}
