import type { Actor } from '@countersign/commands';
import type { Clock } from '@countersign/runtime';
import type { Envelope } from './envelope.js';
import type { RequestKeys } from './request-keys.js';
import { verifyRequest } from './request-signature.js';
import type { SignatureWindow } from './request-signature.js';

/** The principal of unsigned requests, and whether they are accepted. */
export interface Unsigned {
  readonly mode: 'allow' | 'refuse';
  readonly tenant: string;
  readonly principal: string;
}

/** The sender. For an unauthenticated message only the tenant of the refusal is known. */
export type Requester =
  | { readonly status: 'signed' | 'unsigned'; readonly actor: Actor }
  | { readonly status: 'unverified'; readonly actor: Actor; readonly why: string };

/** Authenticates the sender of a message: by its signature or by the configuration, never by its own claims. */
export async function findRequester(
  envelope: Envelope,
  value: Uint8Array,
  options: {
    readonly keys: RequestKeys | null;
    readonly unsigned: Unsigned;
    readonly clock: Clock;
    readonly window?: SignatureWindow;
  },
): Promise<Requester> {
  const { keys, unsigned, clock, window } = options;
  // Unsigned producers share one principal, so every agent name is allowed to them.
  const actor = toActor({ ...unsigned, agentIds: ['*'] });
  if (envelope.signature === undefined) {
    return unsigned.mode === 'allow'
      ? { status: 'unsigned', actor }
      : { status: 'unverified', actor, why: 'a request must be signed' };
  }
  // An invalid signature is an error; it is never treated as a missing one.
  if (keys === null) return { status: 'unverified', actor, why: 'no keys for requests are configured' };
  const verified = await verifyRequest(envelope, value, keys, clock.now(), window);
  return verified.status === 'verified'
    ? { status: 'signed', actor: toActor(verified.key) }
    : { status: 'unverified', actor, why: verified.why };
}

function toActor(
  who: Pick<Actor, 'tenant' | 'principal' | 'agentIds'> & { readonly owner?: string | undefined },
): Actor {
  const { tenant, principal, agentIds, owner } = who;
  const proven = { tenant, principal, agentIds, ...(owner !== undefined && { owner }) };
  return { ...proven, roles: new Set(['agent']), groups: [], via: 'kafka', assurance: 'low' };
}
