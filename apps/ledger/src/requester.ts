import type { Actor } from '@countersign/commands';
import { uuidV5 } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { Envelope } from './envelope.js';
import type { RequestKey, RequestKeys } from './request-keys.js';
import { verifyRequest } from './request-signature.js';
import type { SignatureWindow } from './request-signature.js';

/** The principal of unsigned requests, and whether they are accepted. */
export interface Unsigned {
  readonly mode: 'allow' | 'refuse';
  readonly tenant: string;
  readonly principal: string;
}

/** A sender whose principal is proven: by the signature, or by the configuration of unsigned requests. */
export interface ProvenRequester {
  readonly status: 'signed' | 'unsigned';
  readonly actor: Actor;
  /** The key that signed. */
  readonly key?: RequestKey;
}

/** A signature of this principal that is too old: a redelivery, or a copy that anybody may have kept. */
export interface LateRequester {
  readonly status: 'late';
  readonly actor: Actor;
  readonly why: string;
}

/** No principal is proven. Only the tenant of the refusal is known. */
export interface UnverifiedRequester {
  readonly status: 'unverified';
  readonly tenant: string;
  readonly why: string;
}

export type Requester = ProvenRequester | LateRequester | UnverifiedRequester;

const commandIds = '9b0f8f0a-4c8e-5f4b-8f0d-2a6f5f3b7e11';

/**
 * The command id of a message. The source of a signed message is not included: that header is not signed, and a copy
 * with another source must not be another command.
 */
export function commandIdOf({ id, source, type }: Envelope, requester: Requester): string {
  const isUnsigned = requester.status === 'unsigned' || requester.status === 'unverified';
  const [tenant, principal] =
    requester.status === 'unverified' ? [requester.tenant, null] : [requester.actor.tenant, requester.actor.principal];
  return uuidV5(commandIds, JSON.stringify([tenant, principal, isUnsigned ? source : null, type, id]));
}

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
  const unverified = (why: string): Requester => ({ status: 'unverified', tenant: unsigned.tenant, why });
  if (envelope.signature === undefined) {
    return unsigned.mode === 'allow'
      ? { status: 'unsigned', actor: toActor({ ...unsigned, agentIds: ['*'] }) }
      : unverified('a request must be signed');
  }
  // An invalid signature is an error; it is never treated as a missing one.
  if (keys === null) return unverified('no keys for requests are configured');
  const verified = await verifyRequest(envelope, value, keys, clock.now(), window);
  switch (verified.status) {
    case 'verified':
      return { status: 'signed', actor: toActor(verified.key), key: verified.key };
    case 'late':
      return { status: 'late', actor: toActor(verified.key), why: verified.why };
    case 'unverified':
      return unverified(verified.why);
  }
}

function toActor(
  who: Pick<Actor, 'tenant' | 'principal' | 'agentIds'> & { readonly owner?: string | undefined },
): Actor {
  const { tenant, principal, agentIds, owner } = who;
  const proven = { tenant, principal, agentIds, ...(owner !== undefined && { owner }) };
  return { ...proven, roles: new Set(['agent']), groups: [], via: 'kafka', assurance: 'low' };
}
