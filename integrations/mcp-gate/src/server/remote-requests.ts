import { isJSONRPCRequest, type JSONRPCMessage, type RequestId } from '@modelcontextprotocol/sdk/types.js';
import { NotSentError } from './inner-requests.js';
import { isEventStream, isSilence, SilentServerError, UnreachableError } from './limited-fetch.js';
import { isReply, objectOf } from '../wire.js';

/** The server ended its response, and the result can no longer come. */
export class NoResponseError extends Error {
  override readonly name = 'NoResponseError';
  constructor() {
    super('the MCP server ended its response without a result');
  }
}

/** The server does not know the session any more, for example after a restart: no request of it can succeed. */
export class SessionLostError extends NotSentError {
  constructor() {
    super('the MCP server does not know the session any more');
  }
}

/** The open requests to a server over streamable HTTP. The transport of the SDK does not report a request without a response. */
export interface RemoteRequests {
  /**
   * Sends a message. For a request it resolves when the response has come, and rejects with a `NoResponseError` when none can,
   * with a `NotSentError` when the server has certainly not got or read it.
   *
   * @param send gets a function to call with the id of each event: the stream can be resumed after it.
   */
  readonly send: (
    message: JSONRPCMessage,
    send: (onEventId: (eventId: string) => void) => Promise<void>,
  ) => Promise<void>;
  readonly received: (message: JSONRPCMessage) => void;
  /** The `fetch` of the transport: it follows the streams that may have the response of a request. */
  readonly fetch: typeof fetch;
}

interface OpenRequest {
  /** The last event, after which the server resumes the stream. */
  eventId: string | undefined;
  hasStream: boolean;
  isPosted: boolean;
  failures: number;
  /** Runs while the transport is to resume the stream. */
  resumption?: NodeJS.Timeout;
  readonly answer: (response: undefined) => void;
  readonly reject: (error: NoResponseError | SilentServerError) => void;
}

interface PostedRequest {
  readonly id: RequestId;
  readonly request: OpenRequest;
  readonly hasSession: boolean;
}

/** The transport gives up a stream after this number of failed attempts in a row. */
export const resumptionsMax = 2;

/** The part of a refusal that the client sees. */
const refusalCharactersMax = 200;

/** @param resumptionMs a stream that the transport has not resumed after this time is lost. */
export function createRemoteRequests(fetchLimited: typeof fetch, resumptionMs: number): RemoteRequests {
  const open = new Map<RequestId, OpenRequest>();

  /** The transport resumes no stream that had the result of another request, and one with a long `retry` too late. */
  const expectResumption = (request: OpenRequest): void => {
    const overdue = (): void => {
      request.reject(new NoResponseError());
    };
    request.resumption = setTimeout(overdue, resumptionMs).unref();
  };

  /** Returns the stream, and watches for its end: then the request is lost, unless the transport resumes the stream. */
  const followed = (response: Response, request: OpenRequest): Response => {
    request.hasStream = true;
    request.failures = 0;
    request.eventId = undefined;
    const ended = (reason?: unknown): void => {
      // The transport reads the rest of the stream in microtasks. After them it has received the response.
      setImmediate(() => {
        if (request.eventId !== undefined) expectResumption(request);
        else request.reject(isSilence(reason) ? new SilentServerError(reason) : new NoResponseError());
      });
    };
    if (response.body === null) {
      ended();
      return response;
    }
    const follow = new TransformStream<Uint8Array, Uint8Array>({
      flush: () => {
        ended();
      },
      cancel: ended,
    });
    return new Response(response.body.pipeThrough(follow), response);
  };
  const post = async ({ id, request, hasSession }: PostedRequest, send: () => Promise<Response>): Promise<Response> => {
    // The transport posts again after a redirect: then the first server has got the request.
    const isFirst = !request.isPosted;
    request.isPosted = true;
    const response = await send().catch((error: unknown) => {
      const isUnsent = isFirst && error instanceof UnreachableError && error.isUnsent;
      throw isUnsent ? new NotSentError(error.message) : error;
    });
    if (isFirst) await throwIfRefused(response, id, hasSession);
    return isEventStream(response) ? followed(response, request) : response;
  };
  const resume = async (request: OpenRequest, send: () => Promise<Response>): Promise<Response> => {
    clearTimeout(request.resumption);
    const attempt = send();
    const response = await attempt.catch(() => undefined);
    if (response?.ok === true) return followed(response, request);
    request.failures += 1;
    // 405: the server resumes no streams, and the transport does not try again.
    if (response?.status === 405 || request.failures >= resumptionsMax) request.reject(new NoResponseError());
    else expectResumption(request);
    return attempt;
  };
  return {
    send: async (message, send) => {
      if (!isJSONRPCRequest(message)) {
        await send(() => undefined);
        return;
      }
      const { promise, resolve: answer, reject } = Promise.withResolvers<undefined>();
      // When `send` of the transport throws, no code waits for this promise.
      promise.catch(() => undefined);
      const request: OpenRequest = {
        ...{ eventId: undefined, hasStream: false, isPosted: false, failures: 0 },
        ...{ answer, reject },
      };
      open.set(message.id, request);
      try {
        await send((eventId) => {
          request.eventId = eventId;
        });
        // The transport has read a response that is no stream to its end.
        if (!request.hasStream) reject(new NoResponseError());
        await promise;
      } finally {
        clearTimeout(request.resumption);
        if (open.get(message.id) === request) open.delete(message.id);
      }
    },
    received: (message) => {
      if (!isReply(message)) return;
      if (message.id !== undefined) open.get(message.id)?.answer(undefined);
    },
    fetch: async (input, init) => {
      const send = (): Promise<Response> => fetchLimited(input, init);
      if (init?.method === 'POST') {
        const id = requestIdOf(init.body);
        const request = id === undefined ? undefined : open.get(id);
        const hasSession = new Headers(init.headers).has('mcp-session-id');
        return id === undefined || request === undefined ? send() : post({ id, request, hasSession }, send);
      }
      const eventId = new Headers(init?.headers).get('last-event-id');
      const request = eventId === null ? undefined : [...open.values()].find((some) => some.eventId === eventId);
      return request === undefined ? send() : resume(request, send);
    },
  };
}

/** The client's replies to the server have ids too, which the server chooses. */
function requestIdOf(body: unknown): RequestId | undefined {
  const message: unknown = typeof body === 'string' ? JSON.parse(body) : undefined;
  return isJSONRPCRequest(message) ? message.id : undefined;
}

/** Throws for a response that says that the server has not read the request: no tool can have run. */
async function throwIfRefused(response: Response, id: RequestId, hasSession: boolean): Promise<void> {
  const { status } = response;
  if (status === 401 || status === 403) {
    const text = (await response.text()).slice(0, refusalCharactersMax);
    throw new NotSentError(`the MCP server refused the request with status ${String(status)}: ${text}`);
  }
  if (status !== 404 || !hasSession) return;
  // Some servers respond with 404 to a method that they do not know. Such a response has the id of the request.
  if (!isReplyTo(id, await response.clone().text())) throw new SessionLostError();
}

function isReplyTo(id: RequestId, text: string): boolean {
  try {
    return objectOf(JSON.parse(text))['id'] === id;
  } catch {
    return false;
  }
}
