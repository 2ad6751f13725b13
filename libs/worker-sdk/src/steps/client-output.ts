import type { JsonValue } from '@countersign/contracts';
import { messageOf, nameOf } from '../errors.js';
import type { Requests } from '../ledger/requests.js';
import { whyUnrecordable } from '../tools/recordable.js';
import { asJson } from '../tools/schema.js';

/** Gives the output of a client-executed call. */
export async function submitOutput(requests: Requests, callId: string, output: unknown): Promise<void> {
  const json = output === undefined ? null : asJson(output);
  if (json === undefined) throw new TypeError('the output cannot be written as JSON');
  await requests.output(callId, { status: 'succeeded', output: json });
}

/** Reports that a client-executed call failed. */
export async function submitFailure(requests: Requests, callId: string, error: unknown): Promise<void> {
  await requests.output(callId, { status: 'failed', error: errorOf(error) });
}

/** The server refuses half a character and the like, and the failure must not be lost because of it. */
function errorOf(error: unknown): JsonValue {
  const message = messageOf(error);
  if (error instanceof Error) return { name: nameOf(error), message };
  const json = typeof error === 'string' ? message : asJson(error);
  return json === undefined || whyUnrecordable(json) !== undefined ? { message } : json;
}
