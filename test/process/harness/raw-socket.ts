import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { onCleanup } from './cleanup.js';

/** A socket that sends given bytes and records what it receives. */
export interface RawSocket {
  readonly socket: Socket;
  readonly heard: () => string;
  /** Settles when the other side has closed. */
  readonly closed: Promise<void>;
  /** Writes, and settles when the kernel has accepted it; a socket closed by the peer accepts nothing. */
  readonly say: (text: string | Buffer) => Promise<void>;
}

/** Connects to a port of this machine. Errors of the connection are no surprise here. */
export async function openRawSocket(port: number): Promise<RawSocket> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  onCleanup(() => void socket.destroy());
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk.toString('latin1');
  });
  socket.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    for (const end of ['end', 'close']) socket.once(end, resolve);
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  return {
    socket,
    heard: () => text,
    closed,
    say: (what) =>
      new Promise((resolve) => {
        if (!socket.writable) resolve();
        else socket.write(what, () => resolve());
      }),
  };
}
