import { describe, expect, it } from '@jest/globals';
import { readEvents, type EventsOptions } from './events.js';
import { createTransport } from './transport.js';

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString());

const event = (position: number): string =>
  `id: ${String(position)}\nevent: X\ndata: {"position":${String(position)}}\n\n`;
const streamOf = (...texts: readonly string[]): Response =>
  new Response(
    new ReadableStream({
      start: (controller) => {
        for (const text of texts) controller.enqueue(new TextEncoder().encode(text));
        controller.close();
      },
    }),
    { headers: { 'content-type': 'text/event-stream; charset=utf-8' } },
  );

function read(answers: readonly (Response | Error)[], options: EventsOptions = {}) {
  const seen: { readonly url: string; readonly lastEventId: string | null }[] = [];
  const fetchOnce: typeof fetch = async (url, init) => {
    seen.push({ url: urlOf(url), lastEventId: new Headers(init?.headers).get('last-event-id') });
    const answer = answers[seen.length - 1];
    if (answer instanceof Response) return answer;
    throw answer ?? new Error('offline');
  };
  const waitedMs: number[] = [];
  const clock = {
    now: () => 0,
    monotonic: () => 0,
    setTimer: (delayMs: number, fn: () => void) => {
      if (delayMs > 10_000) return () => undefined;
      waitedMs.push(delayMs);
      const timer = setTimeout(fn, 0);
      return () => clearTimeout(timer);
    },
  };
  return {
    seen,
    waitedMs,
    events: readEvents(createTransport({ url: 'http://x.test', fetch: fetchOnce, clock }), 't', options),
  };
}

async function take(events: AsyncGenerator<{ readonly position: number }>, count: number): Promise<number[]> {
  const positions: number[] = [];
  for await (const { position } of events) {
    positions.push(position);
    if (positions.length === count) break;
  }
  return positions;
}

it('the events are asked for again after the time that the server names when there are too many streams', async () => {
  const refusal = new Response(JSON.stringify({ code: 'too-many-requests', status: 429, detail: 'no', title: 'no' }), {
    status: 429,
    headers: { 'content-type': 'application/problem+json', 'retry-after': '7' },
  });
  const { waitedMs, events } = read([refusal, streamOf(event(1))]);
  expect(await take(events, 1)).toEqual([1]);
  expect(waitedMs).toEqual([7000]);
});

describe('the events', () => {
  it('go on after the last one seen when the connection breaks', async () => {
    const opened: string[] = [];
    const { seen, events } = read([streamOf(event(3), event(5)), new Error('reset'), streamOf(event(8))], {
      after: 2,
      runId: 'r 1',
      types: ['A', 'B'],
      onOpen: () => opened.push('open'),
    });
    expect(await take(events, 3)).toEqual([3, 5, 8]);
    expect(seen[0]?.url).toBe('http://x.test/v1/events?after=2&runId=r+1&types=A%2CB');
    expect(seen.map(({ lastEventId }) => lastEventId)).toEqual([null, '5', '5']);
    expect(opened).toHaveLength(2);
  });

  it('end with a refusal, which no repetition would change', async () => {
    const refused = Response.json(
      { type: 't', title: 't', status: 403, code: 'forbidden', detail: 'no' },
      { status: 403 },
    );
    await expect(take(read([refused]).events, 1)).rejects.toMatchObject({ code: 'forbidden' });
    await expect(take(read([new Response('<html>')]).events, 1)).rejects.toMatchObject({ code: 'unreadable-response' });
  });

  it('that are live go on after the log was put back; others end, because events may be missing', async () => {
    const future = () =>
      Response.json({ type: 't', title: 't', status: 409, code: 'future-position', detail: 'no' }, { status: 409 });
    const live = read([streamOf(event(9)), future(), streamOf(event(4))], { after: 'now' });
    expect(await take(live.events, 2)).toEqual([9, 4]);
    expect(live.seen.map(({ lastEventId }) => lastEventId)).toEqual([null, '9', null]);
    const all = read([streamOf(event(9)), future()], { after: 2 });
    await expect(take(all.events, 2)).rejects.toMatchObject({ code: 'future-position' });
  });

  it('go on from the place that the server named, also when the connection broke before any event', async () => {
    const { events, seen } = read([streamOf('id: 7\n\n'), streamOf(event(8))]);
    expect(await take(events, 1)).toEqual([8]);
    expect(seen.map(({ lastEventId }) => lastEventId)).toEqual([null, '7']);
  });

  it('end without an error when the signal aborts', async () => {
    const controller = new AbortController();
    const { events } = read([streamOf(event(1))], { signal: controller.signal });
    const positions: number[] = [];
    for await (const { position } of events) {
      positions.push(position);
      controller.abort();
    }
    expect(positions).toEqual([1]);
  });
});
