import { eventTypes, requestHeadersSchema, requestMessageSchemas } from '@countersign/contracts';
import type { RequestMessageType } from '@countersign/contracts';
import { PoisonMessageError } from '@countersign/message-bus';
import type { Message } from '@countersign/message-bus';
import { describeFieldErrors, toFieldErrors } from '@countersign/shell';

/** A message of the requests topic as its headers say. The value is not looked at yet. */
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
 * The envelope of a message.
 * @throws PoisonMessageError (`malformed`) when it is no CloudEvent in binary mode: nobody can be answered.
 */
export function readEnvelope({ headers, topic }: Pick<Message, 'headers' | 'topic'>): Envelope {
  // A parameter such as `; charset=utf-8` says nothing that JSON does not.
  const contentType = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase();
  const parsed = requestHeadersSchema.safeParse({ ...headers, 'content-type': contentType });
  if (!parsed.success) throw malformed(describeFieldErrors(toFieldErrors(parsed.error)));
  const { ce_id: id, ce_source: source, ce_type: type, 'countersign-signature': signature } = parsed.data;
  if (controlCharacters.test(id)) throw malformed('ce_id: must not contain control characters');
  return { id, source, type, topic, signature };
}

/** Whether this type is one that the topic is for. */
export function isRequestType(type: string): type is RequestMessageType {
  return Object.hasOwn(requestMessageSchemas, type);
}

/** A type as a label: what somebody makes up must not fill the memory of the metrics. */
export function typeLabel(type: string): string {
  return isRequestType(type) || (eventTypes as readonly string[]).includes(type) ? type : 'other';
}

export function malformed(detail: string): PoisonMessageError {
  return new PoisonMessageError('malformed', detail);
}
