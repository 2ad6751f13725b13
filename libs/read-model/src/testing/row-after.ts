import type { EventData, ToolCallEventType } from '@countersign/contracts';
import type { CallRow } from '../call-row.js';
import { evolve } from '../evolve.js';
import { createTestLog } from './test-log.js';

/** One event of a call: a plausible one with some data replaced. */
export type Step = { [T in ToolCallEventType]: readonly [T, Partial<EventData<T>>?] }[ToolCallEventType];

/** The row after a call's events. */
export function rowAfter(...steps: readonly Step[]): CallRow {
  const log = createTestLog();
  const call = log.call('call_1');
  for (const [type, change] of steps) call.record(type, change);
  const row = log.events.reduce<CallRow | undefined>(evolve, undefined);
  if (row === undefined) throw new Error('nothing was requested');
  return row;
}

export const requested = ['ToolCallRequested'] as const;
export const asked = [requested, ['ApprovalRequested']] as const satisfies Step[];
export const approved = [...asked, ['ApprovalResponded']] as const satisfies Step[];
export const claimed = [...approved, ['ExecutionClaimed']] as const satisfies Step[];
