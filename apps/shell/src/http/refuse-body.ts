import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** How long a refused client may continue to send before its connection is closed, ms. */
const lingerMs = 2000;

/**
 * Responds to a request whose body is not wanted, and closes the connection. It first reads and drops the rest for a
 * moment: closing with unread bytes resets the connection, and the client would not see the response.
 */
export function refuseBody(reply: FastifyReply, text: string): void {
  void reply
    .header('connection', 'close')
    .header('content-length', Buffer.byteLength(text))
    .send(Readable.from(lingering(reply, text), { objectMode: false }));
}

async function* lingering(reply: FastifyReply, text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
  const body = reply.request.raw;
  body.resume();
  if (!body.complete && !body.destroyed) {
    await once(body, 'close', { signal: AbortSignal.timeout(lingerMs) }).catch(() => undefined);
  }
}
