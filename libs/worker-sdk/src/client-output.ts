import type { Client } from './client.js';
import { messageOf } from './errors.js';
import { asJson } from './schema.js';

/** Gives the output of a client-executed call. */
export async function submitOutput(client: Client, callId: string, output: unknown): Promise<void> {
  const json = output === undefined ? null : asJson(output);
  if (json === undefined) throw new TypeError('the output cannot be written as JSON');
  await client.submitOutput(callId, { status: 'succeeded', output: json });
}

/** Says that a client-executed call failed. */
export async function submitFailure(client: Client, callId: string, error: unknown): Promise<void> {
  const json = error instanceof Error ? { name: error.name, message: error.message } : asJson(error);
  await client.submitOutput(callId, { status: 'failed', error: json ?? { message: messageOf(error) } });
}
