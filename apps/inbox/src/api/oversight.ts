import type { OversightGrouping, OversightReport } from '@countersign/contracts';
import { send } from './http.js';

/** How people decided since a time, per approver, tool or rule. An approver gets their own figures. */
export const readOversight = (by: OversightGrouping, from: string, signal?: AbortSignal): Promise<OversightReport> => {
  const query = new URLSearchParams({ by, from });
  return send('GET', `/v1/oversight?${query.toString()}`, { signal });
};
