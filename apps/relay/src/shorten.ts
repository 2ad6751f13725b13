import { hash } from 'node:crypto';
import type { OutgoingMessage } from '@countersign/message-bus';

/** Marks a reduced copy: consumers that need the data read the event store. */
export const shortenedHeader = 'countersign-shortened';

/** Members of an event's data that are larger than this go first. */
const largeBytes = 1024;

/**
 * The message of an event without the large members of its data. A tool's output can be larger than a broker accepts,
 * and one event must not block those behind it. Omitted members are named with size and hash. `all`: without any data,
 * which always fits.
 */
export function shorten(message: OutgoingMessage, how: 'large' | 'all'): OutgoingMessage {
  const view = JSON.parse(Buffer.from(message.value).toString()) as {
    readonly data: Readonly<Record<string, unknown>> | null;
  };
  // An event that cannot be read has no data.
  if (view.data === null) return message;
  const data = Object.fromEntries(
    Object.entries(view.data).flatMap(([name, value]) => {
      const text = JSON.stringify(value);
      const bytes = Buffer.byteLength(text);
      if (how === 'large' && bytes <= largeBytes) return [[name, value]];
      return how === 'large' ? [[name, { omitted: 'too large', bytes, sha256: hash('sha256', text) }]] : [];
    }),
  );
  return {
    ...message,
    headers: { ...message.headers, [shortenedHeader]: how },
    value: Buffer.from(JSON.stringify({ ...view, data })),
  };
}
