import type { Refusal, UnreadableEvent, UnreadableStream } from '@countersign/contracts';

/** The refusal of everything on a stream that is set aside. It names the event, and says what to do. */
export function unreadableRefusal(
  event: Pick<UnreadableEvent, 'stream' | 'eventId' | 'position' | 'revision' | 'type' | 'unreadable'>,
): Refusal {
  const { unreadable: why } = event;
  return refusalOf({ ...event, why }, 'nothing is decided on it');
}

/** The refusal of what a stream forbids, because an event in it cannot be read. */
export function forbiddenRefusal(stream: UnreadableStream, forbids: string): Refusal {
  return refusalOf(stream, forbids);
}

type Found = Omit<UnreadableStream, 'tenant' | 'callId' | 'runId' | 'recordedAt'>;

function refusalOf({ stream, eventId, position, revision, type, why }: Found, effect: string): Refusal {
  return {
    code: 'unreadable',
    detail: `${stream} has an event that this version cannot read, so ${effect}: revision ${String(revision)} at position ${String(position)}: ${why}`,
    extra: { stream, unreadable: { eventId, position, revision, type, why } },
  };
}

/** A stream that a command must know has an event that cannot be read. */
export class UnreadableStreamError extends Error {
  override readonly name = 'UnreadableStreamError';
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.detail);
    this.refusal = refusal;
  }
}
