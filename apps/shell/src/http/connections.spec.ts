import { once } from 'node:events';
import { createServer, connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { createConnections } from './connections.js';
import type { Connections } from './connections.js';

let connections: Connections;
const server = createServer();
const clients: Socket[] = [];
const accepted: Socket[] = [];

beforeEach(async () => {
  connections = createConnections(3);
  server.removeAllListeners('connection');
  server.on('connection', (socket) => {
    socket.on('error', () => undefined);
    accepted.push(socket);
    connections.add(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(async () => {
  for (const client of clients.splice(0)) client.destroy();
  accepted.length = 0;
  server.close();
  await once(server, 'close');
});

/** Opens a connection; returns the server's side of it. */
async function open(): Promise<Socket> {
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.on('error', () => undefined);
  clients.push(client);
  const [socket] = (await once(server, 'connection')) as [Socket];
  return socket;
}

const living = (sockets: readonly Socket[]): boolean[] => sockets.map((socket) => !socket.destroyed);

it('closes the least recently used connection when there are too many', async () => {
  const sockets = [await open(), await open(), await open()] as const;
  connections.use(sockets[0]);
  const fourth = await open();
  expect(living([...sockets, fourth])).toEqual([true, false, true, true]);
});

it('closes none that a request holds, and counts it again when the request is over', async () => {
  const held = await open();
  const release = connections.hold(held, () => undefined);
  const others = [await open(), await open(), await open(), await open()];
  expect(living([held, ...others])).toEqual([true, false, true, true, true]);
  release();
  expect(living([held, ...others])).toEqual([true, false, false, true, true]);
});

it('tells each holder once that its connection is gone, also when it is gone before', async () => {
  const socket = await open();
  const told: string[] = [];
  connections.hold(socket, () => void told.push('first'));
  const release = connections.hold(socket, () => void told.push('second'));
  const gone = connections.hold(socket, () => void told.push('released'));
  gone();
  socket.destroy();
  await once(socket, 'close');
  release();
  connections.hold(socket, () => void told.push('late'));
  expect(told).toEqual(['first', 'second', 'late']);
});
