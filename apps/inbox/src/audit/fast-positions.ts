import type { OversightReport } from '@countersign/contracts';
import { send } from '../api/http.js';

/** The positions in the log of the approvals of a period that came faster than their arguments can be read. */
export async function readFastPositions(
  {
    since = new Date(0).toISOString(),
    until,
  }: { readonly since?: string | undefined; readonly until?: string | undefined },
  signal: AbortSignal,
): Promise<ReadonlySet<number>> {
  const query = new URLSearchParams({ from: since, ...(until !== undefined && { to: until }) });
  const { fastPositions }: OversightReport = await send('GET', `/v1/oversight?${query.toString()}`, { signal });
  return new Set(fastPositions);
}
