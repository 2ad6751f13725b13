import { roles } from '@countersign/commands';
import type { Actor, Role } from '@countersign/commands';
import type { Person } from './session-store.js';

/** The roles of a person: the provider's roles that we know, and no others. Nobody signs in as a front end. */
export function actorFor({ tenant, principal, groups, credential, ...person }: Person): Actor {
  const known = person.roles.filter(
    (role): role is Role => role !== 'front-end' && (roles as readonly string[]).includes(role),
  );
  return {
    ...{ tenant, principal, roles: new Set(known), groups, agentIds: [], via: 'inbox', assurance: 'medium' },
    ...(credential !== undefined && { credential }),
  };
}
