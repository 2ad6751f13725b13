import { untilDone } from '@countersign/http-client';
import type { Client } from './client.js';
import { CountersignError, isRefusal } from '../errors.js';
import type { CallOptions } from './transport.js';

/** No call has this id. */
const noCallId = 'tc_none';

/** Rejects while the token of the resolver may not claim. A caller waits for it before it asks a person. */
export type MayClaim = () => Promise<void>;

/** The options of the proof. */
export interface ProofOptions extends CallOptions {
  /** The client that requests the calls. With it, a token of another tenant is refused too, once the agent has a call. */
  readonly agent?: Client | undefined;
}

/**
 * Proves that the resolver's token may claim, without a claim: so a gate learns it before a person is asked.
 * Rejects like `claim`: `forbidden` for a token without the role resolver, `unauthenticated` for an unknown one, and
 * `not-found` for one of another tenant than the agent.
 */
export async function proveMayClaim(resolver: Client, { agent, ...options }: ProofOptions = {}): Promise<void> {
  try {
    // A renewal needs the same role, and can never be taken for a claim.
    await resolver.renew(noCallId, { attempt: 1, leaseMs: 60_000 }, options);
  } catch (error) {
    if (!isRefusal(error, 'not-found')) throw error;
  }
  // The oldest one: another gateway may not know the newest yet.
  const page = await agent?.listToolCalls({ ...options, order: 'oldest', limit: 1 });
  const [call] = page?.calls ?? [];
  if (call !== undefined) await resolver.getToolCall(call.callId, options).catch(tellOtherTenant);
}

/** The call is of any run: its id would say nothing to the reader. */
function tellOtherTenant(error: unknown): never {
  if (!isRefusal(error, 'not-found')) throw error;
  const why = "the resolver token is of another tenant than the agent's token";
  const message = `${why}. Make both tokens for one tenant.`;
  throw new CountersignError({ code: error.code, message, status: 404, cause: error });
}

/** The proof for many calls: after it has succeeded it is not repeated. */
export function createMayClaim(resolver: Client, options: ProofOptions): MayClaim {
  return untilDone(() => proveMayClaim(resolver, options));
}
