import type { CallOptions } from './transport.js';
import type { Client } from './client.js';
import { isRefusal } from './errors.js';

/** No call has this id. */
const noCallId = 'tc_none';

/**
 * Proves that the client's token may claim, without a claim: so a gate learns it before a person is asked.
 * Rejects like `claim`: `forbidden` for a token without the role resolver, `unauthenticated` for an unknown one.
 */
export async function proveMayClaim(client: Client, options?: CallOptions): Promise<void> {
  try {
    await client.claim(noCallId, { resolverId: 'gate' }, options);
  } catch (error) {
    if (!isRefusal(error, 'not-found')) throw error;
  }
}
