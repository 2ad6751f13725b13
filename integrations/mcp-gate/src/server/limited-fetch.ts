import { EncodedResponseError, fetchUnencoded } from '@countersign/http-client';
import { mediaTypeEssence } from '@modelcontextprotocol/sdk/shared/mediaType.js';

/** A message of the server is larger than the limit, so it is not read. */
export class ReplyTooLargeError extends Error {
  override readonly name = 'ReplyTooLargeError';
  constructor(bytesMax: number) {
    super(`a message of the MCP server has more than ${String(bytesMax)} bytes`);
  }
}

/** The server cannot be reached. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError';
  /** There was no connection at all, so the server has certainly not got the request. */
  readonly isUnsent: boolean;
  constructor(cause: unknown) {
    super(`the MCP server cannot be reached: ${reasonOf(cause)}. Check the address, and that it runs`, { cause });
    this.isUnsent = unsentCodes.has(codeOf(cause));
  }
}

/** The server sent nothing for longer than `fetch` waits. It may still be working on the request. */
export class SilentServerError extends Error {
  override readonly name = 'SilentServerError';
  constructor(cause: unknown) {
    super('the MCP server sent nothing for 5 minutes, so the gate stopped waiting for it', { cause });
  }
}

/** The limits of `fetch`: 5 minutes until the headers, and between two parts of the body. */
const silenceCodes = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT']);

/** Returns whether `fetch`, or the body of its response, failed because the server sent nothing for too long. */
export function isSilence(error: unknown): boolean {
  return silenceCodes.has(codeOf(error));
}

/** The codes of connections that were never made. All others may be those of a connection that broke. */
const unsentCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']);

/**
 * A `fetch` for responses of JSON and event streams, without compression. A response, or one event of a stream, has at most
 * `bytesMax` bytes.
 *
 * @param onExceeded called before the response fails.
 */
export function createLimitedFetch(bytesMax: number, onExceeded: (error: ReplyTooLargeError) => void): typeof fetch {
  return async (input, init) => {
    const response = await fetchUnencoded(input, init).catch((error: unknown) => {
      if (init?.signal?.aborted === true || error instanceof EncodedResponseError) throw error;
      throw isSilence(error) ? new SilentServerError(error) : new UnreachableError(error);
    });
    if (response.body === null) return response;
    const count = isEventStream(response) ? createEventCounter() : createByteCounter();
    const limit = new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        if (count(chunk) <= bytesMax) {
          controller.enqueue(chunk);
          return;
        }
        const error = new ReplyTooLargeError(bytesMax);
        onExceeded(error);
        controller.error(error);
      },
    });
    return new Response(response.body.pipeThrough(limit), response);
  };
}

/** The reason of a failed `fetch` is in its cause. */
function causeOf(error: unknown): unknown {
  return error instanceof Error && error.cause instanceof Error ? error.cause : error;
}

function reasonOf(error: unknown): string {
  const cause = causeOf(error);
  if (!(cause instanceof Error)) return String(cause);
  // The error of a name with several addresses has no message.
  return cause.message === '' ? codeOf(error) : cause.message;
}

function codeOf(error: unknown): string {
  const { code } = Object(causeOf(error)) as { readonly code?: unknown };
  return typeof code === 'string' ? code : '';
}

/** Recognises a stream as the transport of the SDK does. */
export function isEventStream(response: Response): boolean {
  return mediaTypeEssence(response.headers.get('content-type')) === 'text/event-stream';
}

/** Returns the largest count that a chunk leads to. */
type Counter = (chunk: Uint8Array) => number;

function createByteCounter(): Counter {
  let bytes = 0;
  return (chunk) => (bytes += chunk.length);
}

const lineFeed = 10;
const carriageReturn = 13;

/** A blank line ends an event. Lines end with LF, CR or both. */
function createEventCounter(): Counter {
  let bytes = 0;
  let lineBytes = 0;
  let last = 0;
  return (chunk) => {
    let largest = 0;
    for (const byte of chunk) {
      bytes += 1;
      largest = Math.max(largest, bytes);
      const isLineEnd = byte === carriageReturn || (byte === lineFeed && last !== carriageReturn);
      if (isLineEnd && lineBytes === 0) bytes = 0;
      if (isLineEnd) lineBytes = 0;
      else if (byte !== lineFeed) lineBytes += 1;
      last = byte;
    }
    return largest;
  };
}
