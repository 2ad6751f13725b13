import { once } from 'node:events';
import { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';

/** How long a client that was refused may go on sending before its connection is closed, ms. */
const lingerMs = 2000;

/**
 * Answers a request whose body is not wanted, and ends the connection. What still comes is read and dropped for a moment:
 * a connection that is closed with unread bytes is reset, and the client would never see why.
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
