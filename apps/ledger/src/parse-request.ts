import { limits, parseBody, requestMessageSchemas } from '@countersign/contracts';
import type { Refusal, RequestMessageType } from '@countersign/contracts';
import { PoisonMessageError } from '@countersign/message-bus';
import { describeFieldErrors, oversizeCalls, parseStrictJson, toFieldErrors } from '@countersign/shell';
import type { z } from 'zod';
import { malformed } from './envelope.js';

type Bodies = { [T in RequestMessageType]: z.output<(typeof requestMessageSchemas)[T]> };

/** A request as its schema defines it. */
export type Request = { [T in RequestMessageType]: { readonly type: T; readonly body: Bodies[T] } }[RequestMessageType];

/** Before anything else looks at the bytes. @throws PoisonMessageError (`payload-too-large`). */
export function checkSize(value: Uint8Array): void {
  if (value.byteLength > limits.bodyBytesMax) throw tooLarge(`the value has more than ${limits.bodyBytesMax} bytes`);
}

/**
 * The request that a value holds, read as strictly as a body over HTTP.
 * @throws PoisonMessageError (`malformed`, `invalid-request`, `payload-too-large`): no repeat makes it better.
 */
export function parseRequest(type: RequestMessageType, value: Uint8Array): Request {
  const json = parseStrictJson(value, 'the value');
  if (json.status === 'faulty') throw malformed(json.detail);
  const oversize = type === 'ToolCallRequested' ? oversizeCalls(json.value, value.byteLength) : [];
  if (oversize.length > 0) throw tooLarge(describeFieldErrors(oversize));
  const parsed = parseBody<z.ZodType>(requestMessageSchemas[type], json.value);
  if (!parsed.success) {
    throw new PoisonMessageError('invalid-request', describeFieldErrors(toFieldErrors(parsed.error)));
  }
  return { type, body: parsed.data } as Request;
}

/**
 * Returns the refusal of a message whose key is not the run of its request. Its place among the messages of that run
 * would be by chance. Attack: messages under the key of another producer's run, which would wait for them.
 */
export function misplaced(key: string | null, { body: { runId } }: Request): Refusal | undefined {
  if (key === runId) return undefined;
  const found = key === null ? 'the message has no key' : 'the key of the message is another text';
  return { code: 'invalid-request', detail: `${found}; the key must be the runId of the request` };
}

/** The calls that a request speaks of, by the names that its sender gave them. */
export function toolCallIdsOf({ type, body }: Request): readonly string[] {
  if (type === 'ToolCallRequested') return body.calls.map(({ toolCallId }) => toolCallId);
  return body.toolCallId === undefined ? [] : [body.toolCallId];
}

function tooLarge(detail: string): PoisonMessageError {
  return new PoisonMessageError('payload-too-large', detail);
}
