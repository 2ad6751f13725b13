import type { ClientEvent, ClientPage } from './client.js';

/**
 * Collects the events of a read until they have `bytesMax`. Attack: every event of a page is as large as an event may be, also
 * those of other applications.
 * @param end ends a read whose remaining events are not wanted.
 */
export async function boundedPage(
  read: AsyncIterable<ClientEvent | undefined>,
  bytesMax: number,
  end: () => void = () => undefined,
): Promise<ClientPage> {
  const events: ClientEvent[] = [];
  let bytes = 0;
  for await (const event of read) {
    if (event === undefined) continue;
    events.push(event);
    bytes += bytesOf(event);
    if (bytes < bytesMax) continue;
    end();
    return { events, isCut: true };
  }
  return { events, isCut: false };
}

/** About how many bytes an event has: the texts in it, and a little for the rest. Its data may be of another application. */
export function bytesOf({ data, metadata }: Pick<ClientEvent, 'data' | 'metadata'>): number {
  let bytes = 0;
  const left: unknown[] = [data, metadata];
  while (left.length > 0) {
    const value = left.pop();
    bytes += 8;
    if (typeof value === 'string') bytes += value.length;
    else if (ArrayBuffer.isView(value)) bytes += value.byteLength;
    else if (typeof value === 'object' && value !== null) {
      for (const [name, member] of Object.entries(value)) {
        bytes += name.length;
        left.push(member);
      }
    }
  }
  return bytes;
}
