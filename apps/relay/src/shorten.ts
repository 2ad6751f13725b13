import { hash } from 'node:crypto';
import type { OutgoingMessage } from '@countersign/message-bus';

/** Says that a copy is not whole: consumers that need the data read the event store. */
export const shortenedHeader = 'countersign-shortened';

/** Members of an event's data that are larger than this go first. */
const largeBytes = 1024;

/**
 * The message of an event without the large members of its data: an output may be larger than a broker takes, and an
 * event that cannot be published must not keep the ones behind it back. What is left out is named with its size and
 * hash. `all`: without any data, which fits everywhere.
 */
export function shorten(message: OutgoingMessage, how: 'large' | 'all'): OutgoingMessage {
  const view = JSON.parse(Buffer.from(message.value).toString()) as {
    readonly data: Readonly<Record<string, unknown>>;
  };
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
