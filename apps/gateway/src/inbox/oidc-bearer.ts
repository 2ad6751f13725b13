import type { Actor } from '@countersign/commands';
import { assuranceOf } from '../tokens.js';
import type { BearerVia } from '../tokens.js';
import type { Oidc } from './oidc.js';
import { actorFor } from './person.js';

/** The actor of an access token; undefined when the provider did not issue it for us. */
export async function proveByOidc(oidc: Oidc, token: string, via: BearerVia): Promise<Actor | undefined> {
  const person = await oidc.verify(token);
  return person === undefined ? undefined : { ...actorFor(person), via, assurance: assuranceOf(via) };
}
