import type { AddressInfo, Socket } from 'node:net';
import { connect } from 'node:net';
import { expect, it } from '@jest/globals';
import { createCollectingLog } from '@countersign/runtime/testing';
import { createHttpServer } from './http-server.js';
import { ProblemFilter } from './problem-filter.js';

it('a request that does not arrive in time gets 503 and may be sent again', async () => {
  const filter = new ProblemFilter(createCollectingLog());
  const { fastify } = createHttpServer({ bodyBytesMax: 1024, filter, methodsOf: () => undefined });
  await fastify.listen({ port: 0, host: '127.0.0.1' });
  const accepted = new Promise<Socket>((resolve) => fastify.server.once('connection', resolve));
  const socket = connect((fastify.server.address() as AddressInfo).port, '127.0.0.1');
  let received = '';
  socket.on('data', (data) => (received += data.toString()));
  const ended = new Promise((resolve) => socket.once('close', resolve));
  // Node emits this when its limit has passed.
  const late = Object.assign(new Error('Request timeout'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
  fastify.server.emit('clientError', late, await accepted);
  await ended;
  await fastify.close();
  expect(received).toMatch(/^HTTP\/1.1 503 Service Unavailable\r\n[^]*\r\nRetry-After: 1\r\n/);
  expect(received).toContain('"code":"unavailable"');
});
