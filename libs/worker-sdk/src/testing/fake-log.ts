import type { ToolCallEventType } from '@countersign/contracts';
import { now, type FakeCall } from './fake-calls.js';

/** The events of the fake's calls, and their readers. */
export interface FakeLog {
  readonly position: () => number;
  /** Records that a call changed, after it changed. The data of the event are left out. */
  readonly record: (call: FakeCall, type: ToolCallEventType) => void;
  readonly openStream: (query: URLSearchParams, headers: Headers, signal: AbortSignal | undefined) => Response;
  /** Resolves when `isDone`, after `waitMs`, or when the request is aborted. */
  readonly wait: (isDone: () => boolean, waitMs: number, signal: AbortSignal | undefined) => Promise<void>;
  readonly breakStreams: () => void;
}

interface Stream {
  readonly send: (message: Message) => void;
  readonly fail: (error: Error) => void;
}

interface Message {
  readonly position: number;
  readonly type: string;
  readonly runId: string;
  readonly callId: string;
  readonly text: string;
}

export function createFakeLog(): FakeLog {
  const messages: Message[] = [];
  const streams = new Set<Stream>();
  const waiting = new Set<() => void>();
  return {
    position: () => messages.length,
    record: (call, type) => {
      call.view.revision += 1;
      const message = messageOf(call, type, messages.length + 1);
      messages.push(message);
      for (const stream of streams) stream.send(message);
      for (const look of waiting) look();
    },
    openStream: (query, headers, signal) => {
      const last = headers.get('last-event-id') ?? query.get('after') ?? '0';
      const start = last === 'now' ? messages.length : Number(last);
      const wants = selectionOf(query);
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => {
          const encoder = new TextEncoder();
          const stream: Stream = {
            send: (message) => {
              if (wants(message)) controller.enqueue(encoder.encode(message.text));
            },
            fail: (error) => {
              if (streams.delete(stream)) controller.error(error);
            },
          };
          streams.add(stream);
          controller.enqueue(encoder.encode(last === 'now' ? `id: ${String(start)}\n\n` : ': open\n\n'));
          messages.slice(start).forEach(stream.send);
          // Like the real fetch: the stream ends when its reader aborts.
          signal?.addEventListener('abort', () => stream.fail(new DOMException('aborted', 'AbortError')), {
            once: true,
          });
        },
      });
      return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
    },
    wait: (isDone, waitMs, signal) =>
      new Promise((resolve) => {
        if (isDone()) {
          resolve();
          return;
        }
        const end = (): void => {
          clearTimeout(timer);
          waiting.delete(look);
          signal?.removeEventListener('abort', end);
          resolve();
        };
        const look = (): void => {
          if (isDone()) end();
        };
        const timer = setTimeout(end, waitMs);
        waiting.add(look);
        signal?.addEventListener('abort', end);
      }),
    breakStreams: () => {
      for (const stream of [...streams]) stream.fail(new TypeError('terminated'));
    },
  };
}

function messageOf({ view }: FakeCall, type: string, position: number): Message {
  const { callId, runId, toolCallId, toolName, agentId, revision } = view;
  const about = { callId, toolCallId, toolName, agentId, runId, tenant: 'default', revision, recordedAt: now };
  const kind = type.endsWith('Requested') ? 'agent' : 'service';
  const actor = { kind, id: kind === 'agent' ? agentId : 'countersign', onBehalfOf: null };
  const data = JSON.stringify({ eventId: `event-${String(position)}`, type, position, ...about, actor, data: {} });
  return { position, type, runId, callId, text: `id: ${String(position)}\nevent: ${type}\ndata: ${data}\n\n` };
}

function selectionOf(query: URLSearchParams): (message: Message) => boolean {
  const [runId, callId, types] = ['runId', 'callId', 'types'].map((name) => query.get(name));
  return (message) =>
    message.runId === (runId ?? message.runId) &&
    message.callId === (callId ?? message.callId) &&
    (types?.split(',').includes(message.type) ?? true);
}
