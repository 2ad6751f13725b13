import type { ApprovalState } from '@countersign/contracts';

export const outcomes = ['approved', 'denied', 'expired', 'cancelled'] as const satisfies readonly ApprovalState[];

/** Only the latest are loaded; the whole log would be too large for a browser. */
export type Outcome = (typeof outcomes)[number];
