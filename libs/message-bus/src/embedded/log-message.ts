import { toMaskedEventView } from '@countersign/contracts';
import type { EventView, RecordedEvent } from '@countersign/contracts';
import { eventHeaders, eventKey, eventValue } from '../event-message.js';
import type { Message } from '../message-bus.js';

/**
 * A recorded event as a message. View, value and headers are built at the first read: most handlers need at most one of
 * them.
 */
export class LogMessage implements Message {
  readonly topic: string;
  readonly partition = 0;
  readonly #event: RecordedEvent;
  #view: EventView | undefined;
  #value: Uint8Array | undefined;
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(topic: string, event: RecordedEvent) {
    this.topic = topic;
    this.#event = event;
  }

  get offset(): string {
    return String(this.#event.position);
  }

  get key(): string | null {
    return eventKey(this.#event);
  }

  get event(): EventView {
    return (this.#view ??= toMaskedEventView(this.#event));
  }

  get value(): Uint8Array {
    return (this.#value ??= eventValue(this.#event));
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= eventHeaders(this.#event));
  }
}
