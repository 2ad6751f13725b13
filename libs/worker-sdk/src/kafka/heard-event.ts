import { externalIdSchema, toolCallIdSchema } from '@countersign/contracts';
import { z } from 'zod';

/** A message of the events topic, as far as a worker looks at it. */
export interface HeardMessage {
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  /** Decoded only when it is needed. */
  readonly value: () => string;
}

// Members that a newer relay adds do no harm, so they are not checked.
const heardEventSchema = z.looseObject({
  eventId: z.string(),
  type: z.string(),
  callId: externalIdSchema,
  runId: externalIdSchema,
  toolCallId: toolCallIdSchema,
  toolName: z.string(),
  agentId: z.string(),
  revision: z.int(),
  data: z.looseObject({}),
});

/** An event of one call, as the events topic has it: sensitive values are masked. */
export type HeardEvent = z.infer<typeof heardEventSchema>;

/** Says that the relay left out members of the data, because a broker takes no message of that size. */
const shortenedHeader = 'countersign-shortened';

/** Returns the event of one call; undefined for any other message, and for one that tells too little. */
export function heardEvent({ key, headers, value }: HeardMessage): HeardEvent | undefined {
  if (headers[shortenedHeader] !== undefined) return undefined;
  const parsed = heardEventSchema.safeParse(parseJson(value()));
  if (!parsed.success) return undefined;
  const { eventId, type, callId, runId } = parsed.data;
  const isOneEvent =
    runId === key && eventId === headers['ce_id'] && type === headers['ce_type'] && callId === headers['ce_subject'];
  return isOneEvent ? parsed.data : undefined;
}

/** Returns the parsed text; undefined when it is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
