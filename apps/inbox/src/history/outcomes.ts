import type { ApprovalState } from '@countersign/contracts';

export const outcomes = ['approved', 'denied', 'expired', 'cancelled'] as const satisfies readonly ApprovalState[];

/** How an approval ended. */
export type Outcome = (typeof outcomes)[number];
