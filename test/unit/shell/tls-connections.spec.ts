import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls } from 'node:tls';
import { afterEach, expect, it } from '@jest/globals';
import { createSilentLog } from '@countersign/runtime/testing';
import { createHttpServer, ProblemFilter } from '@countersign/shell';
import { createAuthority } from '../../kafka-broker/certificates.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-tls-'));
const cleanUp: (() => unknown)[] = [() => rmSync(folder, { recursive: true })];
afterEach(async () => {
  for (const step of cleanUp.splice(0).reverse()) await step();
});

it('keeps the TLS connection in use open when strangers open more than there may be', async () => {
  const authority = createAuthority(folder);
  const filter = new ProblemFilter(createSilentLog());
  const { fastify } = createHttpServer({
    bodyBytesMax: 1024,
    filter,
    methodsOf: () => ['GET'],
    tls: authority.certify('server'),
    connectionsMax: 3,
  });
  cleanUp.push(() => {
    fastify.server.closeAllConnections();
    return fastify.close();
  });
  fastify.get('/', () => 'here');
  await fastify.listen({ host: '127.0.0.1', port: 0 });
  const { port } = fastify.server.address() as AddressInfo;
  const client = connectTls({ host: '127.0.0.1', port, ca: authority.ca });
  let isClosed = false;
  client.on('error', () => undefined).on('close', () => (isClosed = true));
  cleanUp.push(() => client.destroy());
  await once(client, 'secureConnect');
  /** Sends a request on the connection. */
  const ask = async (): Promise<string> => {
    client.write('GET / HTTP/1.1\r\nhost: server\r\n\r\n');
    const [answer] = (await Promise.race([once(client, 'data'), once(client, 'close')])) as [Buffer | boolean];
    return String(answer);
  };
  for (let stranger = 0; stranger < 6; stranger += 1) {
    expect(await ask()).toContain('200 OK');
    const arrived = once(fastify.server, 'connection');
    const socket = connect(port, '127.0.0.1').on('error', () => undefined);
    cleanUp.push(() => socket.destroy());
    await arrived;
  }
  expect(isClosed).toBe(false);
});
