import { z } from 'zod';
import { timeSchema } from './primitives.js';

const batch = {
  /** The callIds of every member, in the order of the request. */
  callIds: z.array(z.string()),
  /** The principal that requested every member. */
  requestedBy: z.string(),
  /** The member whose claim, output or end decided. */
  callId: z.string(),
};

/** Every member of an all-or-nothing batch may run. From here on no member can be called off. Final. */
export const batchBegunSchema = z.strictObject({ ...batch, begunAt: timeSchema });

/** No member of an all-or-nothing batch will run. The open members are cancelled. Final. */
export const batchBrokenSchema = z.strictObject({
  ...batch,
  /** How the deciding member ends. */
  state: z.enum(['blocked', 'denied', 'expired', 'cancelled']),
  reason: z.string(),
  /** The principal whose command ends the deciding member; `countersign` where a deadline does. */
  brokenBy: z.string(),
  brokenAt: timeSchema,
});

/** Events of the stream of one all-or-nothing batch. Exactly one of the two is recorded. */
export type BatchEvent =
  | { readonly type: 'BatchBegun'; readonly data: z.infer<typeof batchBegunSchema> }
  | { readonly type: 'BatchBroken'; readonly data: z.infer<typeof batchBrokenSchema> };
