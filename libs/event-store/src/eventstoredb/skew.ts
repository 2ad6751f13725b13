import type { Log } from '@countersign/runtime';
import type { RecordedEvent } from '@countersign/contracts';

/** How far the server's clock may be from ours before it is worth a line in the log. */
const skewMsMax = 2000;
const skewedInARow = 3;

/** When an append was sent and answered, by this machine's clock. */
export interface AppendTimes {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/**
 * Compares the server's clock with ours at each new event: deadlines are set by the one and recorded by the other. What
 * was recorded before, by an earlier try or by another process, says nothing: its position is not after the ones known.
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
