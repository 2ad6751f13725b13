import { RefusedResponseError } from './refused-response.js';

/** The server compressed its response, although the request forbade it. No byte of the body was decoded. */
export class EncodedResponseError extends RefusedResponseError {
  override readonly name = 'EncodedResponseError';

  constructor(encoding: string) {
    super(
      `the server sent a response with "content-encoding: ${encoding.slice(0, 40)}" to a request with ` +
        '"accept-encoding: identity", and it was not read. Turn compression off in the server or the proxy in front of it',
    );
  }
}

/** The header that asks for a body without compression. */
export const unencodedHeaders = { 'accept-encoding': 'identity' } as const;

/**
 * Returns why a response with this `content-encoding` is refused, undefined when it may be read. Ask before its body is read.
 *
 * The attack: a hostile server uses an error of a decoder, such as memory corruption in that of Brotli.
 */
export function encodingRefusal(contentEncoding: string | null | undefined): EncodedResponseError | undefined {
  if (contentEncoding === null || contentEncoding === undefined) return undefined;
  const isPlain = contentEncoding.split(',').every((each) => ['', 'identity'].includes(each.trim().toLowerCase()));
  return isPlain ? undefined : new EncodedResponseError(contentEncoding);
}

/**
 * A `fetch` that asks for a response without compression and refuses another one before a byte of it is decoded.
 *
 * Node's `fetch` decodes the body before its caller sees the headers, so the refusal is in the dispatcher below it. Where
 * there is none, in other runtimes and in realms such as Jest's, it comes when the headers are here. A browser lets no
 * program choose, so there any encoding is read.
 *
 * @throws EncodedResponseError; the errors of `fetch`.
 */
export const fetchUnencoded: typeof fetch = async (input, init) => {
  const given = init?.headers ?? (input instanceof Request ? input.headers : undefined);
  const headers = { ...Object.fromEntries(new Headers(given)), ...unencodedHeaders };
  const guard = createGuard();
  const dispatcher = globalDispatcher(1) === undefined ? {} : { dispatcher: guard.dispatcher };
  const response = await fetch(input, Object.assign({ ...init, headers }, dispatcher)).catch((error: unknown) => {
    throw guard.refusal() ?? error;
  });
  const refusal = encodingRefusal(response.headers.get('content-encoding'));
  if (refusal !== undefined && !isBrowser()) throw refusal;
  return response;
};

/** A browser ignores the header: it is one of those that it sets itself. */
function isBrowser(): boolean {
  return !new Request('http://any.test', { headers: unencodedHeaders }).headers.has('accept-encoding');
}

/** Receives the events of one request: of undici 5 to 7 with `onHeaders`, of 8 (Node 26) with `onResponseStart`. */
interface Handler {
  onHeaders?: (status: number, raw: readonly (Uint8Array | string)[], ...more: readonly unknown[]) => unknown;
  onResponseStart?: (
    controller: unknown,
    status: number,
    headers: HeaderObject,
    ...more: readonly unknown[]
  ) => unknown;
}

type HeaderObject = Readonly<Record<string, string | readonly string[] | undefined>>;

interface Dispatcher {
  readonly dispatch: (options: unknown, handler: Handler) => boolean;
}

/** Node sets it when it loads the first class of `fetch`, such as `Headers`. */
function globalDispatcher(version: 1 | 2): Dispatcher | undefined {
  return Reflect.get(globalThis, Symbol.for(`undici.globalDispatcher.${String(version)}`)) as Dispatcher | undefined;
}

/** A dispatcher for one request. `fetch` wraps errors in others, so its refusal is kept here. */
function createGuard(): { readonly dispatcher: Dispatcher; readonly refusal: () => EncodedResponseError | undefined } {
  let refusal: EncodedResponseError | undefined;
  const check = (contentEncoding: string): void => {
    refusal = encodingRefusal(contentEncoding);
    if (refusal !== undefined) throw refusal;
  };
  const dispatcher: Dispatcher = {
    // The global dispatcher of the moment may be a proxy's. Each of the two forms of handlers has its own.
    dispatch: (options, handler) => {
      const next = globalDispatcher(handler.onResponseStart === undefined ? 1 : 2);
      if (next === undefined) throw new Error('this realm has no global dispatcher');
      return next.dispatch(options, guarded(handler, check));
    },
  };
  return { dispatcher, refusal: () => refusal };
}

/** The same handler, which throws at the headers: then the request fails, and the decoder is not made. */
function guarded(handler: Handler, check: (contentEncoding: string) => void): Handler {
  const { onHeaders, onResponseStart } = handler;
  const guard = Object.create(handler) as Handler;
  if (onHeaders !== undefined) {
    guard.onHeaders = (status, raw, ...more) => {
      check(contentEncodingOf(raw));
      return onHeaders.call(guard, status, raw, ...more);
    };
  }
  if (onResponseStart !== undefined) {
    guard.onResponseStart = (controller, status, headers, ...more) => {
      check([headers['content-encoding'] ?? ''].flat().join());
      return onResponseStart.call(guard, controller, status, headers, ...more);
    };
  }
  return guard;
}

/** Names and values take turns. */
function contentEncodingOf(raw: readonly (Uint8Array | string)[]): string {
  const texts = raw.map((each) => (typeof each === 'string' ? each : new TextDecoder('latin1').decode(each)));
  return texts.filter((_, at) => at % 2 === 1 && texts[at - 1]?.toLowerCase() === 'content-encoding').join();
}
