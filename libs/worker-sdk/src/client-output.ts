import { messageOf } from './errors.js';
import type { Requests } from './requests.js';
import { asJson } from './schema.js';

/** Gives the output of a client-executed call. */
export async function submitOutput(requests: Requests, callId: string, output: unknown): Promise<void> {
  const json = output === undefined ? null : asJson(output);
  if (json === undefined) throw new TypeError('the output cannot be written as JSON');
  await requests.output(callId, { status: 'succeeded', output: json });
}

/** Reports that a client-executed call failed. */
export async function submitFailure(requests: Requests, callId: string, error: unknown): Promise<void> {
  const json = error instanceof Error ? { name: error.name, message: error.message } : asJson(error);
  await requests.output(callId, { status: 'failed', error: json ?? { message: messageOf(error) } });
}
