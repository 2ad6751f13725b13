import { setImmediate } from 'node:timers/promises';
import { toEventView, toMaskedEventView } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import type { Actor } from '@countersign/commands';
import type { Applied } from '@countersign/read-model';
import type { GatewayPorts } from './ports.js';

/** Where a stream of events is written to: a socket, seen as little as possible. */
export interface EventSink {
  /** False: it is full; `onDrain` says when it is not. */
  readonly write: (text: string) => boolean;
  readonly onDrain: (listener: () => void) => void;
  readonly onClose: (listener: () => void) => void;
  readonly end: () => void;
}

/** Which events a reader wants, after which position. */
export interface EventSelection {
  /** `now`: live only. */
  readonly after: number | 'now';
  readonly runId?: string | undefined;
  readonly callId?: string | undefined;
  readonly types?: ReadonlySet<string> | undefined;
}

/** Streams of events to readers: from any position of the log on, then live. */
export interface EventFeed {
  readonly open: (actor: Actor, selection: EventSelection, sink: EventSink) => void;
  readonly count: () => number;
  /** Ends every stream; its reader comes back with the id of the last event that it saw. */
  readonly close: () => void;
}

interface Reader {
  readonly actor: Actor;
  readonly selection: EventSelection;
  readonly sink: EventSink;
  /** The last event of the log that it has seen, or was passed over for it. */
  position: number;
  status: 'open' | 'closed';
  /** Since when its socket is full, on the monotonic clock; null while it is not. */
  fullSince: number | null;
  wake: () => void;
}

const heartbeatMs = 15_000;
/** A reader that takes nothing for this long is gone, or as good as gone. */
const fullMsMax = 60_000;
const retryMs = 2000;
const pageSize = 100;

/**
 * The feed over the store's pages and the read model's news. A reader that is up to date shares the events that were just
 * applied with all others; one that is behind, or whose socket is full, holds nothing but its position and reads pages.
 */
export function createEventFeed(ports: GatewayPorts): EventFeed {
  const { readModel, clock } = ports;
  const frameFor = createFrames(ports);
  const readers = new Set<Reader>();
  let last: { readonly from: number; readonly applied: Applied } | undefined;
  let head = readModel.checkpoint();
  const stopListening = readModel.onApplied((applied) => {
    last = { from: head, applied };
    head = applied.position;
    for (const reader of readers) reader.wake();
  });
  let cancelBeat = (): void => undefined;
  const beat = (): void => {
    for (const reader of readers) {
      if (reader.fullSince === null) reader.sink.write(': heartbeat\n\n');
      else if (clock.monotonic() - reader.fullSince > fullMsMax) closeReader(reader);
    }
    cancelBeat = clock.setTimer(heartbeatMs, beat);
  };
  const closeReader = (reader: Reader): void => {
    if (!readers.delete(reader)) return;
    reader.status = 'closed';
    reader.wake();
    reader.sink.end();
    if (readers.size === 0) cancelBeat();
  };

  /** The next events of the log after the reader's position: those just applied when it was up to date, else a page. */
  const nextOf = async (reader: Reader): Promise<readonly RecordedEvent[]> => {
    if (last !== undefined && reader.position >= last.from && reader.position < head) {
      const { events } = last.applied;
      const seen = reader.position;
      reader.position = head;
      return events.filter(({ position }) => position > seen);
    }
    const upTo = head;
    const page = await ports.store.readAll(reader.position, pageSize);
    // Many pages may hold nothing for this reader: others get their turn in between.
    await setImmediate();
    // What reads do not show yet is not told either.
    const shown = page.filter(({ position }) => position <= upTo);
    reader.position = page.length < pageSize || shown.length < page.length ? upTo : (page.at(-1)?.position ?? upTo);
    return shown;
  };

  const pump = async (reader: Reader): Promise<void> => {
    while (reader.status === 'open') {
      if (reader.position >= head) {
        await new Promise<void>((resolve) => {
          reader.wake = resolve;
        });
        continue;
      }
      for (const event of await nextOf(reader)) {
        if (wants(reader, event) && !reader.sink.write(frameFor(reader.actor, event))) await drained(reader);
        if (isClosed(reader)) return;
      }
    }
  };
  const drained = (reader: Reader): Promise<void> =>
    new Promise((resolve) => {
      reader.fullSince = clock.monotonic();
      const go = (): void => {
        reader.fullSince = null;
        reader.wake = ignore;
        resolve();
      };
      reader.sink.onDrain(go);
      // News must not wake a reader whose socket is full; its end must.
      reader.wake = () => {
        if (reader.status === 'closed') go();
      };
    });

  return {
    open: (actor, selection, sink) => {
      const position = selection.after === 'now' ? head : selection.after;
      const reader: Reader = { actor, selection, sink, position, status: 'open', fullSince: null, wake: ignore };
      readers.add(reader);
      if (readers.size === 1) cancelBeat = clock.setTimer(heartbeatMs, beat);
      sink.onClose(() => {
        closeReader(reader);
      });
      // A live reader that loses its connection before the first event comes back to where it began.
      sink.write(selection.after === 'now' ? `retry: ${retryMs}\nid: ${position}\n\n` : `retry: ${retryMs}\n\n`);
      pump(reader).catch((error: unknown) => {
        ports.log.warn({ error }, 'a stream of events broke off');
        closeReader(reader);
      });
    },
    count: () => readers.size,
    close: () => {
      stopListening();
      for (const reader of [...readers]) closeReader(reader);
    },
  };
}

const ignore = (): void => undefined;

function isClosed(reader: Reader): boolean {
  return reader.status === 'closed';
}

function wants({ actor, selection }: Reader, { type, metadata }: RecordedEvent): boolean {
  return (
    metadata.tenant === actor.tenant &&
    (selection.callId === undefined || metadata.callId === selection.callId) &&
    (selection.runId === undefined || metadata.runId === selection.runId) &&
    (selection.types === undefined || selection.types.has(type))
  );
}

/** The text of an event, made once for all readers that may see the same of it. */
function createFrames(ports: GatewayPorts): (actor: Actor, event: RecordedEvent) => string {
  const frames = new WeakMap<RecordedEvent, { whole?: string; masked?: string }>();
  return (actor, event) => {
    const made = frames.get(event) ?? {};
    frames.set(event, made);
    if (mayReadWhole(ports, actor, event)) return (made.whole ??= frameOf(event, toEventView(event)));
    return (made.masked ??= frameOf(event, toMaskedEventView(event)));
  };
}

function frameOf({ position, type }: RecordedEvent, view: unknown): string {
  return `id: ${position}\nevent: ${type}\ndata: ${JSON.stringify(view)}\n\n`;
}

function mayReadWhole({ readModel }: GatewayPorts, actor: Actor, { metadata }: RecordedEvent): boolean {
  if (actor.roles.has('auditor')) return true;
  if (!actor.roles.has('agent') || metadata.callId === null) return false;
  return readModel.toolCall(actor.tenant, metadata.callId)?.request.requestedBy === actor.principal;
}
