import { roles } from '@countersign/commands';
import type { Actor, Role } from '@countersign/commands';
import type { Person } from './session-store.js';

/** The running sign-ins. Each one lives in its own browser, so others cannot evict it. */
export function actorFor({ tenant, principal, groups, ...person }: Person): Actor {
  const known = person.roles.filter((role): role is Role => (roles as readonly string[]).includes(role));
  return { tenant, principal, roles: new Set(known), groups, agentIds: [], via: 'inbox', assurance: 'medium' };
}
