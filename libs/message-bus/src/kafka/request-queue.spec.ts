import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Server, Socket } from 'node:net';
// @ts-expect-error -- a file of kafkajs that it declares no types of; what is used of it is below.
import ConnectionOfKafkajs from 'kafkajs/src/network/connection.js';
// @ts-expect-error -- the same.
import heartbeat from 'kafkajs/src/protocol/requests/heartbeat/v0/request.js';
import { mendRequestQueue } from './request-queue.js';

interface Connection {
  readonly connect: () => Promise<unknown>;
  readonly send: (request: object) => Promise<unknown>;
  readonly disconnect: () => Promise<unknown>;
}

const [host, requestTimeout] = ['127.0.0.1', 300];

function connectionTo(port: number): Connection {
  const logger: object = { namespace: () => logger, debug: () => undefined, error: () => undefined };
  const socketFactory = ({ onConnect }: { readonly onConnect: () => void }): Socket =>
    connect({ host, port }, onConnect);
  const options = { host, port, logger, socketFactory, requestTimeout, connectionTimeout: 5_000 };
  return new (ConnectionOfKafkajs as new (options: object) => Connection)(options);
}

function sendHeartbeat(connection: Connection): Promise<unknown> {
  const make = heartbeat as (of: object) => object;
  return connection.send({ request: make({ groupId: 'g', groupGenerationId: 1, memberId: 'm' }), response: {} });
}

describe('a connection that is closed while a request is under way', () => {
  let server: Server;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    mendRequestQueue();
    server = createServer({ allowHalfOpen: true }, (socket) => sockets.push(socket)).listen(0, host);
    await once(server, 'listening');
  });
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy();
    server.close();
  });

  // The client sends some turns of the event loop after the call, and closes some turns after that; a request can fall
  // between the two.
  it.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('fails every unanswered request (%d turns between)', async (turns) => {
    const connection = connectionTo((server.address() as AddressInfo).port);
    await connection.connect();
    const answer = sendHeartbeat(connection).catch((error: unknown) => (error as Error).name);
    for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
    await connection.disconnect();
    expect(await answer).toMatch(/KafkaJSRequestTimeoutError|KafkaJSConnectionError/);
  });
});
