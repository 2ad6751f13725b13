import { z } from 'zod';

/** A request from the requests topic that was understood and not carried out. */
export const requestRefusedSchema = z.strictObject({
  /** The `ce_id` of the request. */
  requestId: z.string(),
  /** One of the stable codes. A string, so that a newer ledger may add codes. */
  code: z.string(),
  detail: z.string(),
  /** The calls that the request spoke of; empty when it was refused before it was read. */
  toolCallIds: z.array(z.string()),
  /** How long to wait before a new request, where the refusal ends by itself, as `Retry-After` over HTTP. */
  retryAfterMs: z.int().min(0).exactOptional(),
  /**
   * The principal that the ledger proved for the sender, by the signature or, for unsigned requests, by its configuration.
   * Absent: none was proven, so the refusal is the end of no principal's request.
   */
  principal: z.string().min(1).exactOptional(),
});

/** Events of a tenant's refused requests, `refusals-<tenant>`. */
export interface RefusalEvent {
  readonly type: 'RequestRefused';
  readonly data: z.infer<typeof requestRefusedSchema>;
}

/** The stream of a tenant's refused requests. */
export function refusalsStream(tenant: string): string {
  return `refusals-${tenant}`;
}
