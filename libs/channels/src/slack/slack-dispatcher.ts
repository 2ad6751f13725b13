import type { Duplex } from 'node:stream';
import { encodingRefusal, unencodedHeaders } from '@countersign/http-client';
import { Agent, buildConnector, type Dispatcher } from 'undici';

/** The way to Slack of one WebSocket connection. */
export interface SlackDispatcher {
  readonly dispatcher: Dispatcher;
  /** Breaks the connection, without waiting for Slack to agree. */
  readonly destroy: () => void;
}

/**
 * Creates a dispatcher that offers no compression of messages and refuses a handshake that has any.
 *
 * The attack: a hostile server answers the handshake with a body or with messages for a decoder that has an error.
 */
export function createSlackDispatcher(): SlackDispatcher {
  let opened: Duplex | undefined;
  const connect = buildConnector({ allowH2: false });
  const agent = new Agent({
    connect: (options, callback) => {
      connect(options, (...connected) => {
        opened = connected[1] ?? undefined;
        callback(...connected);
      });
    },
  });
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    // The WebSocket gives its headers by lower-case names.
    const { 'sec-websocket-extensions': _, ...headers } = options.headers as Readonly<Record<string, string>>;
    return dispatch({ ...options, headers: { ...headers, ...unencodedHeaders } }, unencoded(handler));
  });
  return { dispatcher, destroy: () => opened?.destroy() };
}

/** The same handler, which throws at the headers: then the handshake fails, and no decoder is made. */
function unencoded(handler: Dispatcher.DispatchHandler): Dispatcher.DispatchHandler {
  const guard = Object.create(handler) as Dispatcher.DispatchHandler;
  guard.onResponseStart = (controller, status, headers, ...more) => {
    const refusal = encodingRefusal([headers['content-encoding'] ?? ''].flat().join());
    if (refusal !== undefined) throw refusal;
    handler.onResponseStart?.call(guard, controller, status, headers, ...more);
  };
  guard.onRequestUpgrade = (controller, status, headers, socket) => {
    const extensions = headers['sec-websocket-extensions'];
    if (extensions !== undefined)
      throw new Error(`the server chose an extension that was not offered: ${String(extensions).slice(0, 40)}`);
    return handler.onRequestUpgrade?.call(guard, controller, status, headers, socket);
  };
  return guard;
}
