import type { JsonValue, RecordedEvent } from '@countersign/contracts';

/** What a row grows by at least with any event. */
const bytesPerEvent = 512;

/** About how long a JSON value is when written, for bounds on memory: the strings in it, and a little for the rest. */
function roughLength(value: JsonValue | undefined): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let length = 8;
  for (const [key, child] of Object.entries(value)) length += key.length + roughLength(child);
  return length;
}

/** About how many bytes of JSON an event adds to its row. Only the values that its writer chose can be large. */
export function weigh({ data }: Pick<RecordedEvent, 'data'>): number {
  if ('arguments' in data) return bytesPerEvent + roughLength(data.arguments);
  if ('output' in data) return bytesPerEvent + roughLength(data.output);
  if ('error' in data) return bytesPerEvent + roughLength(data.error);
  if (!('decision' in data)) return bytesPerEvent;
  const { decision } = data;
  if (decision.type === 'edit') return bytesPerEvent + roughLength(decision.arguments);
  return bytesPerEvent + (decision.type === 'answer' ? roughLength(decision.output) : 0);
}
