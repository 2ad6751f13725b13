import { toMaskedEventView } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import type { OutgoingMessage } from './message-bus.js';

/** The key of an event's message: its run, so that a run's events keep their order. */
export function eventKey(event: RecordedEvent): string | null {
  return event.metadata.runId;
}

/** The headers of an event's message: CloudEvents 1.0, binary mode. */
export function eventHeaders(event: RecordedEvent): Readonly<Record<string, string>> {
  const { callId, tenant } = event.metadata;
  return {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: event.eventId,
    ce_source: `/countersign/${encodeURIComponent(tenant)}`,
    ce_type: event.type,
    ce_time: event.recordedAt,
    ce_sequence: String(event.position),
    ...(callId === null ? {} : { ce_subject: callId }),
  };
}

/** The value of an event's message: the event as JSON, sensitive values masked. */
export function eventValue(event: RecordedEvent): Uint8Array {
  return Buffer.from(JSON.stringify(toMaskedEventView(event)));
}

/** A recorded event in the form that the events topic carries. */
export function toEventMessage(event: RecordedEvent): OutgoingMessage {
  return { key: eventKey(event), headers: eventHeaders(event), value: eventValue(event) };
}
