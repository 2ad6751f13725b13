import type { Socket } from 'node:net';

/**
 * The open connections of a server. Those with a request stay open. At the limit the least recently used idle one is
 * closed, so that idle or slow connections do not exclude new ones.
 */
export interface Connections {
  readonly add: (socket: Socket) => void;
  /** A request arrived on this connection. */
  readonly use: (socket: Socket) => void;
  /**
   * Holds a connection until the returned function is called. Calls `onGone` once when it is closed earlier, at once
   * when it is already closed. The `close` event of a response cannot be used: a response that is queued behind another
   * never emits it.
   */
  readonly hold: (socket: Socket, onGone: () => void) => () => void;
  /** Closes the connections that have sent no byte. */
  readonly closeUnused: () => void;
}

/** Connections of which `max` may be open that no request holds. */
export function createConnections(max: number): Connections {
  const byFarEnd = new Map<string, Socket>();
  // The least recently used first.
  const free = new Set<Socket>();
  const held = new Map<Socket, Set<() => void>>();
  /** Over TLS a request has a socket of its own; both have the same far end. */
  const connectionOf = (socket: Socket): Socket =>
    free.has(socket) || held.has(socket) ? socket : (byFarEnd.get(farEndOf(socket) ?? '') ?? socket);

  const makeRoom = (): void => {
    for (const oldest of free) {
      if (free.size <= max) return;
      free.delete(oldest);
      oldest.destroy();
    }
  };
  const setFree = (socket: Socket): void => {
    if (socket.destroyed) return;
    free.add(socket);
    makeRoom();
  };
  const gone = (socket: Socket): void => {
    free.delete(socket);
    const listeners = held.get(socket);
    held.delete(socket);
    for (const onGone of listeners ?? []) onGone();
  };
  return {
    add: (socket) => {
      const farEnd = farEndOf(socket);
      if (farEnd !== undefined) byFarEnd.set(farEnd, socket);
      setFree(socket);
      socket.once('close', () => {
        if (farEnd !== undefined && byFarEnd.get(farEnd) === socket) byFarEnd.delete(farEnd);
        gone(socket);
      });
    },
    use: (used) => {
      const socket = connectionOf(used);
      if (free.delete(socket)) free.add(socket);
    },
    hold: (used, onGone) => {
      const socket = connectionOf(used);
      if (socket.destroyed) {
        onGone();
        return () => undefined;
      }
      const holders = held.get(socket) ?? new Set();
      // A listener of this hold alone: the same function may hold twice.
      const listener = (): void => {
        onGone();
      };
      held.set(socket, holders.add(listener));
      free.delete(socket);
      return () => {
        if (!holders.delete(listener) || holders.size > 0 || !held.delete(socket)) return;
        setFree(socket);
      };
    },
    closeUnused: () => {
      for (const socket of free) if (socket.bytesRead === 0) socket.destroy();
    },
  };
}

/** Undefined: the socket is closed, or has no address. */
function farEndOf({ remoteAddress, remotePort }: Socket): string | undefined {
  return remotePort === undefined ? undefined : `${remoteAddress ?? ''} ${String(remotePort)}`;
}
