import { eventViewSchema, isReadable, toLogEventView } from '@countersign/contracts';
import type { EventView, LogEvent, LogEventView } from '@countersign/contracts';
import { PoisonMessageError } from './message-bus.js';
import type { Message, OutgoingMessage } from './message-bus.js';

/** The header of an event that the publishing version cannot read: why. Its value has no data. */
export const unreadableHeader = 'x-unreadable';

/** The key of an event's message: its run, so that a run's events keep their order. */
export function eventKey(event: LogEvent): string | null {
  return event.metadata.runId;
}

/** The headers of an event's message: CloudEvents 1.0, binary mode. */
export function eventHeaders(event: LogEvent): Readonly<Record<string, string>> {
  const { callId, tenant } = event.metadata;
  const { traceparent } = isReadable(event) ? event.metadata : {};
  return {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: event.eventId,
    ce_source: `/countersign/${encodeURIComponent(tenant ?? '')}`,
    ce_type: event.type,
    ce_time: event.recordedAt,
    ce_sequence: String(event.position),
    ...(callId === null ? {} : { ce_subject: callId }),
    ...(traceparent === undefined ? {} : { traceparent }),
    ...(isReadable(event) ? {} : { [unreadableHeader]: event.unreadable }),
  };
}

/** The value of an event's message: the event as JSON, sensitive values masked. */
export function eventValue(event: LogEvent): Uint8Array {
  return Buffer.from(JSON.stringify(toLogEventView(event, 'others')));
}

/** A recorded event in the form that the events topic carries. */
export function toEventMessage(event: LogEvent): OutgoingMessage {
  return { key: eventKey(event), headers: eventHeaders(event), value: eventValue(event) };
}

/**
 * The event, with its data, that a message of the events topic carries.
 * @throws PoisonMessageError (`malformed`) when it carries none.
 */
export function parseEventMessage(message: Pick<Message, 'value' | 'event'>): EventView {
  const { data, unreadable = 'it has no data', ...event } = parseLogEventMessage(message);
  if (data === null) throw notAnEvent(unreadable);
  return { ...event, data };
}

/**
 * The event that a message of the events topic carries; without its data where the relay could not read it.
 * @throws PoisonMessageError (`malformed`) when it carries none.
 */
export function parseLogEventMessage(message: Pick<Message, 'value' | 'event'>): LogEventView {
  if (message.event !== undefined) return message.event;
  try {
    return eventViewSchema.parse(JSON.parse(Buffer.from(message.value).toString()));
  } catch (error) {
    throw notAnEvent(error instanceof Error ? error.message : String(error));
  }
}

function notAnEvent(why: string): PoisonMessageError {
  return new PoisonMessageError('malformed', `not an event: ${why}`);
}
