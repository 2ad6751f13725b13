import { randomUUID } from 'node:crypto';
import type { TestServer } from '../../eventstoredb-server/server.ts';

/** Writes an event into the server's log as another application would; returns its position. */
export function writeForeign(
  server: TestServer,
  stream: string,
  texts: { data?: string; metadata?: string } = {},
): number {
  const event = {
    id: randomUUID(),
    type: 'SomethingElse',
    contentType: 'application/json',
    data: Buffer.from(texts.data ?? '{"a":1}'),
    metadata: Buffer.from(texts.metadata ?? ''),
  };
  const written = server.log.append(stream, 'any', [event], { createdMs: Date.now(), recognisesRepeats: true });
  if (written.status !== 'written') throw new Error('the foreign event was not written');
  return written.position;
}

/** Metadata as ours look. */
export const metadataLikeOurs = '{"tenant":"default","commandId":"c","schemaVersion":1,"callId":null,"runId":null}';
