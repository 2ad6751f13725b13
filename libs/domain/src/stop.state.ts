import type { StopScope } from '@countersign/contracts';

/** One stop, in force until it is lifted. */
export interface Stop {
  readonly stopId: string;
  readonly scope: StopScope;
  readonly reason: string;
  readonly declaredBy: string;
  readonly declaredAt: string;
  /** Null: it is in force. */
  readonly lifted: { readonly by: string; readonly at: string; readonly reason: string } | null;
}

/** The stops of one tenant, the oldest first. */
export interface Stops {
  readonly stops: readonly Stop[];
}

/** The id of the stop by a file: it is in no log, and ends with the file. */
export const fileStopId = 'file';

/** Returns whether a stop still holds. */
export function isInForce({ lifted }: Stop): boolean {
  return lifted === null;
}

/** The words of a "no" by a stop: which one, why, and what to do. */
export function stopDetail({ stopId, scope, reason, declaredBy, declaredAt }: Stop): string {
  const remedy =
    stopId === fileStopId
      ? 'the operator removes the file STOP from the data folder'
      : `an admin lifts the stop: countersign resume ${stopId}`;
  return `${declaredBy} stopped ${stoppedCallsWords(scope)} at ${declaredAt}: ${reason}. Wait until ${remedy}`;
}

/** The calls that a stop covers, in words. Their tenant is the reader's own, or is not named. */
export function stoppedCallsWords({ agentId, toolName }: Pick<Stop['scope'], 'agentId' | 'toolName'>): string {
  const parts = [
    ...(toolName === null ? [] : [`of the tool "${toolName}"`]),
    ...(agentId === null ? [] : [`of the agent "${agentId}"`]),
  ];
  return parts.length === 0 ? 'all calls' : `the calls ${parts.join(' ')}`;
}
