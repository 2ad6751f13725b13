import type { NewEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { Tracing } from './tracing.js';

/**
 * The store of a process that makes spans. The first event of a stream gets the active span as its `traceparent`; those
 * that follow have it already. Each recorded event of a call is a span of its trace. Without tracing: the store itself.
 */
export function createTracedStore<S extends EventStore>(
  store: S,
  tracing: Pick<Tracing, 'traceparent' | 'recorded'> | undefined,
): S {
  if (tracing === undefined) return store;
  const append: EventStore['append'] = async (stream, expectedRevision, events, options) => {
    const traceparent = tracing.traceparent();
    const traced = traceparent === undefined ? events : events.map((event) => withContext(event, traceparent));
    const result = await store.append(stream, expectedRevision, traced, options);
    if (result.status === 'committed' && !isRepeat(traced, result.events)) tracing.recorded(traced);
    return result;
  };
  return { ...store, append };
}

/** Another process recorded the same command first, in a trace of its own. */
function isRepeat([event]: readonly NewEvent[], [recorded]: readonly NewEvent[]): boolean {
  return recorded !== undefined && recorded.metadata.traceparent !== event?.metadata.traceparent;
}

function withContext(event: NewEvent, traceparent: string): NewEvent {
  const { metadata } = event;
  return metadata.traceparent === undefined ? { ...event, metadata: { ...metadata, traceparent } } : event;
}
