import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { EventView } from '@countersign/contracts';

/** One message of a stream. */
export interface Message {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: EventView;
}

/** A stream of events that a spec reads. */
export interface Stream {
  readonly status: number;
  readonly headers: Headers;
  readonly messages: Message[];
  /** Comments, such as heartbeats. */
  readonly comments: string[];
  /** The last event id, as a browser would send it again. */
  readonly lastId: () => string | undefined;
  /** Settles once that many messages are there. */
  readonly until: (count: number) => Promise<readonly Message[]>;
  /** Settles when the server ends the stream. */
  readonly ended: Promise<void>;
  readonly close: () => void;
}

/** Opens `GET /v1/events…`. */
export async function openStream(
  url: string,
  as: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Stream> {
  const closing = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${as}-token`, ...headers },
    signal: closing.signal,
  });
  const messages: Message[] = [];
  const comments: string[] = [];
  let lastId: string | undefined;
  let onMessage = (): void => undefined;

  const take = (block: string): void => {
    const lines = block.split('\n');
    const field = (name: string) => lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
    comments.push(...lines.filter((line) => line.startsWith(':')));
    const id = field('id');
    lastId = id ?? lastId;
    const data = field('data');
    if (data !== undefined) messages.push({ id, event: field('event'), data: JSON.parse(data) as EventView });
    onMessage();
  };
  const read = async (): Promise<void> => {
    let rest = '';
    const decoder = new TextDecoder();
    const body = response.body as ReadableStream<Uint8Array> | null;
    for await (const chunk of body ?? []) {
      const blocks = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = blocks.pop() ?? '';
      blocks.forEach(take);
    }
  };
  const ended = read().catch(() => undefined);
  const until = async (count: number): Promise<readonly Message[]> => {
    const late = Date.now() + 100_000;
    while (messages.length < count && Date.now() < late) {
      await new Promise<void>((resolve) => {
        onMessage = resolve;
        setTimeout(resolve, 50);
      });
    }
    if (messages.length < count) throw new Error(`only ${messages.length} of ${count} messages came`);
    return messages;
  };
  return {
    status: response.status,
    headers: response.headers,
    messages,
    comments,
    lastId: () => lastId,
    until,
    ended,
    close: () => closing.abort(),
  };
}

/** A reader that opens a stream and then reads nothing at all. */
export function openDeafStream(port: number, as: string, path: string): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  socket.on('error', () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${as}-token\r\n\r\n`);
  return socket;
}
