import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';

/** A Countersign in memory that refuses the token for a time, as after a change of the tokens file. */
export interface Refusable {
  readonly countersign: FakeCountersign;
  readonly fetch: typeof fetch;
  /** The ids of the calls that the gate has requested. */
  readonly asked: string[];
  /** Refuses all requests, and ends the open event streams. Resolves when an event stream was refused. */
  readonly refuse: () => Promise<undefined>;
  readonly accept: () => void;
}

export function refusable(): Refusable {
  const countersign = createFakeCountersign();
  const asked: string[] = [];
  let isRefused = false;
  const streamRefused = Promise.withResolvers<undefined>();
  let broken = neverYet();
  const problem = {
    type: '/problems/unauthenticated',
    title: 'no',
    status: 401,
    code: 'unauthenticated',
    detail: 'no',
  };
  return {
    countersign,
    asked,
    fetch: async (input, init) => {
      if (isRefused) {
        if (new Request(input).url.includes('/v1/events')) streamRefused.resolve(undefined);
        return Response.json(problem, { status: 401 });
      }
      const response = await countersign.fetch(input, init);
      const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as {
        calls?: { readonly toolCallId: string }[];
      };
      asked.push(...calls.map(({ toolCallId }) => toolCallId));
      const { headers, body } = response;
      return headers.get('content-type')?.startsWith('text/event-stream') === true && body !== null
        ? new Response(breakable(body, broken.promise), { headers })
        : response;
    },
    refuse: () => {
      isRefused = true;
      broken.reject(new Error('the connection was lost'));
      return streamRefused.promise;
    },
    accept: () => {
      isRefused = false;
      broken = neverYet();
    },
  };
}

function neverYet(): PromiseWithResolvers<never> {
  const broken = Promise.withResolvers<never>();
  broken.promise.catch(() => undefined);
  return broken;
}

function breakable(body: ReadableStream<Uint8Array>, broken: Promise<never>): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { value } = await Promise.race([reader.read(), broken]);
      if (value !== undefined) controller.enqueue(value);
    },
  });
}
