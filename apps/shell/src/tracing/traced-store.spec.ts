import type { NewEvent } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSimulatedEventStore, sampleEvents, readable } from '@countersign/event-store/testing';
import type { AppendFault } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createTracedStore } from './traced-store.js';

const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
const earlier = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';

function open(faults: AppendFault[] = []): { store: EventStore; raw: EventStore; recorded: NewEvent[] } {
  const recorded: NewEvent[] = [];
  const raw = createSimulatedEventStore({ clock: systemClock, fault: () => faults.shift() ?? 'none' });
  const tracing = {
    traceparent: () => traceparent,
    recorded: (events: readonly NewEvent[]) => recorded.push(...events),
  };
  return { store: createTracedStore(raw, tracing), raw, recorded };
}

it('records the active span with events that have no trace yet, and leaves the others', async () => {
  const { store, raw, recorded } = open();
  const [first, second] = sampleEvents(2) as [NewEvent, NewEvent];
  const traced = { ...second, metadata: { ...second.metadata, traceparent: earlier } };
  await store.append('toolCall-a', noStream, [first, traced]);
  const stored = readable(await raw.readStream('toolCall-a'));
  expect(stored.map(({ metadata }) => metadata.traceparent)).toEqual([traceparent, earlier]);
  expect(recorded.map(({ eventId }) => eventId)).toEqual([first.eventId, second.eventId]);
});

it('makes no span of events that another process recorded first, in another trace', async () => {
  const { store, raw, recorded } = open();
  const events = sampleEvents(1);
  await raw.append(
    'toolCall-a',
    noStream,
    events.map((event) => ({ ...event, metadata: { ...event.metadata, traceparent: earlier } })),
  );
  expect(await store.append('toolCall-a', noStream, events)).toMatchObject({ status: 'committed' });
  expect(recorded).toEqual([]);
});

it('makes no span of an event that was not recorded', async () => {
  const { store, recorded } = open();
  await store.append('toolCall-a', 7, sampleEvents(1));
  expect(recorded).toEqual([]);
});

it('is the store itself without tracing', () => {
  const { raw } = open();
  expect(createTracedStore(raw, undefined)).toBe(raw);
});
