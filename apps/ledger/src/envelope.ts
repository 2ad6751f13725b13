import { eventTypes, requestHeadersSchema, requestMessageSchemas } from '@countersign/contracts';
import type { RequestMessageType } from '@countersign/contracts';
import { PoisonMessageError } from '@countersign/message-bus';
import type { Message } from '@countersign/message-bus';
import { describeFieldErrors, toFieldErrors } from '@countersign/shell';

/** A message of the requests topic by its headers. The value is not parsed yet. */
export interface Envelope {
  readonly id: string;
  readonly source: string;
  readonly type: string;
  /** The topic that the message was read from. */
  readonly topic: string;
  readonly signature: string | undefined;
}

const controlCharacters = /[\p{Cc}\p{Zl}\p{Zp}]/u;

/**
 * Returns the envelope of a message.
 * @throws PoisonMessageError (`malformed`) when it is not a CloudEvent in binary mode: there is no sender to notify.
 */
export function readEnvelope({ headers, topic }: Pick<Message, 'headers' | 'topic'>): Envelope {
  // A parameter such as `; charset=utf-8` makes no difference for JSON.
  const contentType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const parsed = requestHeadersSchema.safeParse({ ...headers, 'content-type': contentType });
  if (!parsed.success) throw malformed(describeFieldErrors(toFieldErrors(parsed.error)));
  const { ce_id: id, ce_source: source, ce_type: type, 'countersign-signature': signature } = parsed.data;
  if (controlCharacters.test(id)) throw malformed('ce_id: must not contain control characters');
  return { id, source, type, topic, signature };
}

/** Returns whether the topic accepts this type. */
export function isRequestType(type: string): type is RequestMessageType {
  return Object.hasOwn(requestMessageSchemas, type);
}

/** A type as a metric label. Made-up types share one label, so that they cannot fill the memory. */
export function typeLabel(type: string): string {
  return isRequestType(type) || (eventTypes as readonly string[]).includes(type) ? type : 'other';
}

export function malformed(detail: string): PoisonMessageError {
  return new PoisonMessageError('malformed', detail);
}
