import type { Refusal, UnreadableEvent } from '@countersign/contracts';

/** The refusal of everything on a stream that is set aside. It names the event, and says what to do. */
export function unreadableRefusal({ stream, eventId, position, revision, type, unreadable }: UnreadableEvent): Refusal {
  return {
    code: 'unreadable',
    detail: `${stream} has an event that this version cannot read, so nothing is decided on it: revision ${String(revision)} at position ${String(position)}: ${unreadable}`,
    extra: { stream, unreadable: { eventId, position, revision, type, why: unreadable } },
  };
}

/** A stream that a command must know has an event that cannot be read. */
export class UnreadableStreamError extends Error {
  override readonly name = 'UnreadableStreamError';
  readonly refusal: Refusal;

  constructor(event: UnreadableEvent) {
    const refusal = unreadableRefusal(event);
    super(refusal.detail);
    this.refusal = refusal;
  }
}
